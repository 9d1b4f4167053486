package import Engine
package import Semantics

/// What of a task changes and has no column: its status. A task that is as it was created has an
/// empty one.
package enum TaskStatus {
    private enum Field {
        static let options: UInt8 = 1
        static let countOfBytesReceived: UInt8 = 2
        static let countOfBytesExpectedToReceive: UInt8 = 3
        static let countOfBytesSent: UInt8 = 4
        static let countOfBytesExpectedToSend: UInt8 = 5
        static let currentRequest: UInt8 = 6
        static let content: UInt8 = 7
        static let response: UInt8 = 8
        static let error: UInt8 = 9
        static let metrics: UInt8 = 10
        static let suspendCount: UInt8 = 11
        static let retryCount: UInt8 = 12
        static let mirrorCount: UInt8 = 13
        static let bodyGeneration: UInt8 = 14
        static let checkpoint: UInt8 = 15
        static let dialogue: UInt8 = 16
        static let resourceTimeEnd: UInt8 = 17
        static let resourceTimeLeft: UInt8 = 18
        static let nextAttemptAt: UInt8 = 19
        static let isDiscretionary: UInt8 = 20
        static let cancellation: UInt8 = 21
        static let saved: UInt8 = 24
        static let retryOf: UInt8 = 25
        static let redirectsBefore: UInt8 = 26
        static let isOnePart: UInt8 = 28
        static let policyRetryCount: UInt8 = 29
    }

    /// Writes a task's status; fields that are as `TaskRecord.init` makes them are left out, and so
    /// is the `suspendCount` that the state tells.
    package static func write(_ task: TaskRecord, to parts: inout RecordParts) {
        if task.options != TaskOptions() {
            parts.clear.put(Field.options, record: { task.options.write(to: &$0) })
        }
        if task.countOfBytesReceived != 0 {
            parts.clear.put(Field.countOfBytesReceived, task.countOfBytesReceived)
        }
        if task.countOfBytesExpectedToReceive != unknownSize {
            parts.clear.put(Field.countOfBytesExpectedToReceive, task.countOfBytesExpectedToReceive)
        }
        if task.countOfBytesSent != 0 {
            parts.clear.put(Field.countOfBytesSent, task.countOfBytesSent)
        }
        if task.countOfBytesExpectedToSend != task.initialCountToSend {
            parts.clear.put(Field.countOfBytesExpectedToSend, task.countOfBytesExpectedToSend)
        }
        if task.currentRequest != task.originalRequest {
            parts.put(
                Field.currentRequest,
                record: { task.currentRequest.write(to: &$0, original: task.originalRequest) })
        }
        if let content = task.content {
            parts.clear.put(Field.content, record: { content.write(to: &$0) })
        }
        if task.suspendCount != task.usualSuspendCount {
            parts.clear.put(Field.suspendCount, task.suspendCount)
        }
        if task.retryCount != 0 { parts.clear.put(Field.retryCount, task.retryCount) }
        if task.policyRetryCount != 0 {
            parts.clear.put(Field.policyRetryCount, task.policyRetryCount)
        }
        if task.mirrorCount != 0 { parts.clear.put(Field.mirrorCount, task.mirrorCount) }
        if task.redirectsBefore != 0 {
            parts.clear.put(Field.redirectsBefore, task.redirectsBefore)
        }
        if task.bodyGeneration != 0 { parts.clear.put(Field.bodyGeneration, task.bodyGeneration) }
        if let checkpoint = task.checkpoint {
            parts.clear.put(Field.checkpoint, record: { checkpoint.write(to: &$0, of: task.id) })
        }
        if task.dialogue != TaskDialogue() {
            parts.put(
                Field.dialogue,
                record: { task.dialogue.write(to: &$0, original: task.originalRequest) })
        }
        switch task.resourceTime {
        case .until(let end): parts.clear.put(Field.resourceTimeEnd, end.milliseconds)
        case .left(let left): parts.clear.put(Field.resourceTimeLeft, left.milliseconds)
        case nil: break
        }
        if let next = task.nextAttemptAt {
            parts.clear.put(Field.nextAttemptAt, next.milliseconds)
        }
        if let saved = task.saved {
            parts.clear.put(Field.saved, record: { saved.write(to: &$0) })
        }
        if task.isOnePart { parts.clear.put(Field.isOnePart, true) }
        if task.isDiscretionary { parts.clear.put(Field.isDiscretionary, true) }
        if task.state == .canceling, let reason = task.cancellation {
            parts.clear.put(Field.cancellation, reason.rawValue)
        }
        parts.clear.put(Field.retryOf, task.retryOf?.rawValue)
        write(TaskOutcome(task), to: &parts, base: task.originalRequest.url.string)
    }

    /// Writes only what events are told from.
    ///
    /// `base` is the task's URL, where the reader will know it; else empty.
    package static func write(_ outcome: TaskOutcome, to parts: inout RecordParts, base: String) {
        if let response = outcome.response {
            parts.put(Field.response, record: { response.write(to: &$0, base: base) })
        }
        if let error = outcome.error {
            parts.clear.put(Field.error, record: { error.write(to: &$0) })
        }
        if outcome.metrics != TaskMetrics() {
            parts.clear.put(Field.metrics, record: { outcome.metrics.write(to: &$0, base: base) })
        }
    }

    /// Reads a status into a task that is as it was created, but for what has columns and its
    /// `usualSuspendCount`.
    package static func read(clear: [UInt8], secret: [UInt8]?, into task: inout TaskRecord)
        throws(StoreError)
    {
        var reader = RecordReader(clear)
        var currentRequest: RecordReader?
        var dialogue: RecordReader?
        while let field = try reader.next() {
            switch field {
            case Field.options: task.options = try TaskOptions(try reader.record())
            case Field.countOfBytesReceived: task.countOfBytesReceived = try reader.int64()
            case Field.countOfBytesExpectedToReceive:
                task.countOfBytesExpectedToReceive = try reader.int64()
            case Field.countOfBytesSent: task.countOfBytesSent = try reader.int64()
            case Field.countOfBytesExpectedToSend:
                task.countOfBytesExpectedToSend = try reader.int64()
            case Field.currentRequest: currentRequest = try reader.record()
            case Field.content: task.content = try ContentRecord(try reader.record())
            case Field.suspendCount: task.suspendCount = try reader.int()
            case Field.retryCount: task.retryCount = try reader.int()
            case Field.policyRetryCount: task.policyRetryCount = try reader.int()
            case Field.mirrorCount: task.mirrorCount = try reader.int()
            case Field.redirectsBefore: task.redirectsBefore = try reader.int()
            case Field.isOnePart: task.isOnePart = try reader.bool()
            case Field.bodyGeneration: task.bodyGeneration = try reader.int()
            case Field.checkpoint:
                task.checkpoint = try DownloadCheckpoint(try reader.record(), of: task.id)
            case Field.dialogue: dialogue = try reader.record()
            case Field.resourceTimeEnd:
                task.resourceTime = .until(
                    KeptTime(milliseconds: try milliseconds(try reader.int64())))
            case Field.resourceTimeLeft:
                task.resourceTime = .left(.milliseconds(try milliseconds(try reader.int64())))
            case Field.nextAttemptAt:
                task.nextAttemptAt = Timestamp(
                    milliseconds: try milliseconds(try reader.int64()))
            case Field.saved: task.saved = try SavedFile(try reader.record())
            case Field.isDiscretionary: task.isDiscretionary = try reader.bool()
            case Field.cancellation:
                task.cancellation = BackgroundCancellation(rawValue: try reader.int())
            case Field.retryOf: task.retryOf = TaskID(rawValue: try reader.int64())
            default: try reader.skip()
            }
        }
        if let currentRequest {
            task.currentRequest = try RequestRecord(
                clear: currentRequest, secret: try part(Field.currentRequest, of: secret),
                original: task.originalRequest)
        }
        if let dialogue {
            task.dialogue = try TaskDialogue(
                clear: dialogue, secret: try part(Field.dialogue, of: secret),
                original: task.originalRequest)
        }
        let outcome = try outcome(
            clear: clear, secret: secret, base: task.originalRequest.url.string)
        task.response = outcome.response
        task.error = outcome.error
        task.metrics = outcome.metrics
    }

    /// What can be reckoned with: a damaged row may have any number.
    private static func milliseconds(_ stored: Int64) throws(StoreError) -> Int64 {
        guard (0...Int64.max / 2).contains(stored) else { throw .damagedRecord }
        return stored
    }

    /// Reads only what events are told from.
    package static func outcome(
        clear: [UInt8], secret: [UInt8]?, base: String
    ) throws(StoreError) -> TaskOutcome {
        var outcome = TaskOutcome()
        var reader = RecordReader(clear)
        while let field = try reader.next() {
            switch field {
            case Field.response:
                outcome.response = try ResponseRecord(
                    clear: try reader.record(), secret: try part(Field.response, of: secret),
                    base: base)
            case Field.error: outcome.error = try TransferError(try reader.record())
            case Field.metrics: outcome.metrics = try TaskMetrics(try reader.record(), base: base)
            default: try reader.skip()
            }
        }
        return outcome
    }

    /// The clear part with its error changed; nil where that leaves it as it is.
    package static func clear(
        _ clear: [UInt8], changingError change: (TransferError) throws -> TransferError
    ) throws -> [UInt8]? {
        var reader = RecordReader(clear)
        var writer = RecordWriter()
        var isChanged = false
        while let field = try reader.next() {
            guard field == Field.error else {
                try reader.copy(field, to: &writer)
                continue
            }
            let error = try TransferError(try reader.record())
            let changed = try change(error)
            isChanged = isChanged || changed != error
            writer.put(Field.error, record: { changed.write(to: &$0) })
        }
        return isChanged ? writer.bytes : nil
    }

    /// Whether there is an error.
    package static func hasError(in clear: [UInt8]) throws(StoreError) -> Bool {
        var reader = RecordReader(clear)
        while let field = try reader.next() {
            if field == Field.error { return true }
            try reader.skip()
        }
        return false
    }

    /// Reads only what tasks are searched by; nothing is opened that is sealed.
    package static func readSearched(in clear: [UInt8], into task: inout SearchedTask)
        throws(StoreError)
    {
        var reader = RecordReader(clear)
        while let field = try reader.next() {
            switch field {
            case Field.options:
                let options = try TaskOptions(try reader.record())
                task.description = options.description
                task.fileName = options.fileName
                task.metadata = options.metadata
            case Field.response:
                task.suggestedFilename = try ResponseRecord.fileName(in: try reader.record())
            case Field.error:
                task.hasError = true
                try reader.skip()
            default: try reader.skip()
            }
        }
    }

    /// The content alone; nil where there is none.
    package static func content(in clear: [UInt8]) throws(StoreError) -> ContentRecord? {
        var reader = RecordReader(clear)
        while let field = try reader.next() {
            guard field != Field.content else { return try ContentRecord(try reader.record()) }
            try reader.skip()
        }
        return nil
    }

    /// The checkpoint alone; nil where there is none.
    package static func checkpoint(
        in clear: [UInt8], of task: TaskID
    ) throws(StoreError) -> DownloadCheckpoint? {
        var reader = RecordReader(clear)
        while let field = try reader.next() {
            guard field != Field.checkpoint else {
                return try DownloadCheckpoint(try reader.record(), of: task)
            }
            try reader.skip()
        }
        return nil
    }

    /// The clear part without its content.
    package static func withoutContent(_ clear: [UInt8]) throws(StoreError) -> [UInt8] {
        var reader = RecordReader(clear)
        var writer = RecordWriter()
        while let field = try reader.next() {
            if field == Field.content {
                try reader.skip()
            } else {
                try reader.copy(field, to: &writer)
            }
        }
        return writer.bytes
    }

    /// The clear part, whose checkpoint tells another series.
    package static func clear(
        _ clear: [UInt8], of task: TaskID, sentIn series: Int64
    ) throws(StoreError) -> [UInt8] {
        var reader = RecordReader(clear)
        var writer = RecordWriter()
        while let field = try reader.next() {
            guard field == Field.checkpoint else {
                try reader.copy(field, to: &writer)
                continue
            }
            var checkpoint = try DownloadCheckpoint(try reader.record(), of: task)
            checkpoint.series = series
            writer.put(Field.checkpoint, record: { checkpoint.write(to: &$0, of: task) })
        }
        return writer.bytes
    }

    /// The secret half of a record inside the record.
    private static func part(_ wanted: UInt8, of secret: [UInt8]?) throws(StoreError)
        -> RecordReader?
    {
        guard let secret else { return nil }
        var reader = RecordReader(secret)
        while let field = try reader.next() {
            guard field != wanted else { return try reader.record() }
            try reader.skip()
        }
        return nil
    }
}

/// How a task has ended, as its last events tell it.
package struct TaskOutcome: Equatable, Sendable {
    package var response: ResponseRecord?
    package var error: TransferError?
    package var metrics = TaskMetrics()
}

extension TaskOutcome {
    package init(_ task: TaskRecord) {
        self.init(response: task.response, error: task.error, metrics: task.metrics)
    }
}

extension TaskRecord {
    /// What `countOfBytesExpectedToSend` is at first.
    fileprivate var initialCountToSend: Int64 { self.originalRequest.body?.length ?? 0 }

    /// What `suspendCount` is unless something else is stored.
    package var usualSuspendCount: Int { self.state == .suspended ? 1 : 0 }
}
