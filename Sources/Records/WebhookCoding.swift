package import Engine
package import Semantics

/// What of a webhook is in no column of its own.
package struct WebhookProperties {
    package private(set) var url: WebURL?
    package private(set) var secret: WebhookSecret?
    package private(set) var formerSecret: WebhookRecord.FormerSecret?
    package private(set) var events = WebhookEvents.all
    package private(set) var description: String?
    package private(set) var disabledReason: WebhookDisabledReason?
    package private(set) var failingSince: KeptTime?

    private enum Field {
        static let url: UInt8 = 1
        static let secret: UInt8 = 2
        static let formerSecret: UInt8 = 3
        static let formerUntil: UInt8 = 4
        static let event: UInt8 = 5
        static let description: UInt8 = 6
        static let disabledReason: UInt8 = 7
        static let failingSince: UInt8 = 8
    }

    /// Writes them.
    package static func write(_ webhook: WebhookRecord, to parts: inout RecordParts) {
        parts.secret.put(Field.url, record: { webhook.url.write(to: &$0) })
        parts.secret.put(Field.secret, webhook.secret.bytes)
        if let former = webhook.formerSecret {
            parts.secret.put(Field.formerSecret, former.secret.bytes)
            parts.secret.put(Field.formerUntil, former.until.milliseconds)
        }
        if case .some(let names) = webhook.events {
            for name in names { parts.clear.put(Field.event, name) }
        }
        parts.clear.put(Field.description, webhook.description)
        parts.clear.put(Field.disabledReason, webhook.disabledReason?.rawValue)
        parts.clear.put(Field.failingSince, webhook.failingSince?.milliseconds)
    }

    /// Reads what `write` has written.
    package init(clear: [UInt8], secret: [UInt8]) throws(StoreError) {
        var former: WebhookSecret?
        var names: [String] = []
        for part in [clear, secret] {
            var reader = RecordReader(part)
            while let field = try reader.next() {
                switch field {
                case Field.url: url = try WebURL(try reader.record())
                case Field.secret: self.secret = WebhookSecret(bytes: try reader.byteArray())
                case Field.formerSecret: former = WebhookSecret(bytes: try reader.byteArray())
                case Field.formerUntil:
                    let until = KeptTime(milliseconds: try reader.int64())
                    formerSecret = former.map { WebhookRecord.FormerSecret($0, until: until) }
                case Field.event: names.append(try reader.string())
                case Field.description: description = try reader.string()
                case Field.disabledReason: disabledReason = try reader.raw()
                case Field.failingSince:
                    failingSince = KeptTime(milliseconds: try reader.int64())
                default: try reader.skip()
                }
            }
        }
        if !names.isEmpty { events = .some(names) }
    }
}

extension DeliveryRecord {
    private enum Field {
        static let event: UInt8 = 1
        static let session: UInt8 = 2
        static let task: UInt8 = 3
        static let attempt: UInt8 = 4
        static let attemptCount: UInt8 = 5
        static let nextAttemptAt: UInt8 = 6
        static let firstAttemptAt: UInt8 = 7
    }

    /// Writes what is in no column of its own.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.event, event)
        writer.put(Field.session, session.rawValue)
        writer.put(Field.task, task?.rawValue)
        for attempt in attempts { writer.put(Field.attempt, record: { attempt.write(to: &$0) }) }
        if attemptCount != attempts.count { writer.put(Field.attemptCount, attemptCount) }
        writer.put(Field.nextAttemptAt, nextAttemptAt?.milliseconds)
        writer.put(Field.firstAttemptAt, firstAttemptAt?.milliseconds)
    }

    /// Reads what `write` has written.
    package init(
        _ reader: RecordReader, webhook: WebhookID, position: Int64, state: DeliveryState
    ) throws(StoreError) {
        var reader = reader
        var (event, session, task) = ("", Int64(0), TaskID?.none)
        var attempts: [DeliveryAttempt] = []
        var (count, first, next) = (Int?.none, KeptTime?.none, KeptTime?.none)
        while let field = try reader.next() {
            switch field {
            case Field.event: event = try reader.string()
            case Field.session: session = try reader.int64()
            case Field.task: task = TaskID(rawValue: try reader.int64())
            case Field.attempt: attempts.append(try DeliveryAttempt(try reader.record()))
            case Field.attemptCount: count = try reader.int()
            case Field.nextAttemptAt: next = KeptTime(milliseconds: try reader.int64())
            case Field.firstAttemptAt: first = KeptTime(milliseconds: try reader.int64())
            default: try reader.skip()
            }
        }
        self.init(
            webhook: webhook, position: position, event: event,
            session: SessionID(rawValue: session), task: task, attempts: attempts,
            attemptCount: count ?? attempts.count)
        self.state = state
        firstAttemptAt = first
        nextAttemptAt = next
    }
}

extension DeliveryAttempt {
    private enum Field {
        static let at: UInt8 = 1
        static let status: UInt8 = 2
        static let duration: UInt8 = 3
        static let error: UInt8 = 4
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.at, at.milliseconds)
        writer.put(Field.status, status)
        writer.put(Field.duration, duration)
        writer.put(Field.error, error)
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var (at, status, duration, error) = (Int64(0), Int?.none, Int64(0), String?.none)
        while let field = try reader.next() {
            switch field {
            case Field.at: at = try reader.int64()
            case Field.status: status = try reader.int()
            case Field.duration: duration = try reader.int64()
            case Field.error: error = try reader.string()
            default: try reader.skip()
            }
        }
        self.init(
            at: Timestamp(milliseconds: at), status: status, duration: duration, error: error)
    }
}
