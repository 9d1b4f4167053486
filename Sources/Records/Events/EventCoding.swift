package import Engine
package import Semantics

/// What an event's body carries, as it is stored and read again.
package enum EventCoding {
    private enum Field {
        static let status: UInt8 = 1
        static let header: UInt8 = 2
        static let offset: UInt8 = 1
        static let length: UInt8 = 2
        static let generation: UInt8 = 1
        static let decision: UInt8 = 2
        static let decisionKind: UInt8 = 3
        static let deadline: UInt8 = 4
        static let total: UInt8 = 2
        static let attempt: UInt8 = 1
        static let delay: UInt8 = 2
        static let reason: UInt8 = 3
        static let downloadTask: UInt8 = 1
        static let webhook: UInt8 = 1
        static let folder: UInt8 = 1
        static let path: UInt8 = 2
    }

    /// Whether the body is told by the task that has completed: nothing of it changes any more
    /// (S-31). Of several responses only those that are the last one's equal are, unless they ask.
    package static func isDerived(_ body: EventBody, from task: TaskRecord) -> Bool {
        guard task.state == .completed else { return false }
        return switch body {
        case .didReceiveResponse(let response, nil): task.response == response
        case .didFinishCollectingMetrics(let metrics): task.metrics == metrics
        case .didComplete(let error): task.error == error
        default: false
        }
    }

    /// Writes the body; both parts stay empty when the kind says it all.
    package static func write(_ body: EventBody, to parts: inout RecordParts) {
        switch body {
        case .didReceiveInformationalResponse(let status, let headers):
            parts.clear.put(Field.status, status)
            headers.write(Field.header, to: &parts)
        case .needNewBodyStream(let generation, let decision):
            parts.clear.put(Field.generation, generation)
            parts.clear.put(Field.decision, decision.id.rawValue)
            parts.clear.put(Field.decisionKind, decision.kind.rawValue)
            parts.clear.put(Field.deadline, decision.deadline.milliseconds)
        case .didReceiveChallenge(let challenge, let decision):
            QuestionCoding.write(decision, challenge: challenge, to: &parts)
        case .willPerformHTTPRedirection(let response, let request, let decision):
            QuestionCoding.write(decision, response: response, request: request, to: &parts)
        case .willCacheResponse(let response, let decision):
            QuestionCoding.write(decision, response: response, to: &parts)
        case .willBeginDelayedRequest(let request, let decision):
            QuestionCoding.write(decision, request: request, to: &parts)
        case .didReceiveResponse(let response, let decision?):
            QuestionCoding.write(decision, response: response, to: &parts)
        case .didReceiveResponse(let response, nil): response.write(to: &parts, base: "")
        case .didBecomeDownloadTask(let task):
            parts.clear.put(Field.downloadTask, task.rawValue)
        case .didResumeAtOffset(let offset, let total):
            parts.clear.put(Field.offset, offset)
            parts.clear.put(Field.total, total)
        case .willRetry(let attempt, let delay, let reason):
            parts.clear.put(Field.attempt, attempt)
            parts.clear.put(Field.delay, delay)
            parts.clear.put(Field.reason, reason)
        case .didDisableWebhook(let webhook, let reason):
            parts.clear.put(Field.webhook, webhook.rawValue)
            parts.clear.put(Field.reason, reason.rawValue)
        case .didReceiveData(let offset, let length, _, _):
            parts.clear.put(Field.offset, offset)
            parts.clear.put(Field.length, length)
        case .didFinishCollectingMetrics(let metrics): metrics.write(to: &parts.clear, base: "")
        case .didComplete(let error), .didBecomeInvalid(let error): error?.write(to: &parts.clear)
        case .didChange(let members): members.write(to: &parts.clear)
        case .didFinishDownloading(let place):
            guard let place else { break }
            parts.clear.put(Field.folder, place.folder)
            parts.clear.put(Field.path, place.path)
        case .didCreate, .isWaitingForConnectivity, .didDelete,
            .didChangeCredentialStorage, .didFinishEvents, .didWriteData, .didSendBodyData:
            break
        }
    }

    /// Reads a body from its payload.
    package static func body(_ kind: EventKind, payload: [UInt8]) throws(StoreError) -> EventBody {
        let reader = RecordReader(payload)
        return switch kind {
        case .didCreate: .didCreate
        case .didFinishDownloading: .didFinishDownloading(try savedPlace(reader))
        case .isWaitingForConnectivity: .isWaitingForConnectivity
        case .didChangeCredentialStorage: .didChangeCredentialStorage
        case .didFinishEvents: .didFinishEvents
        case .didDelete: .didDelete
        case .didChange: .didChange(try [TaskAppearance.Member](reader))
        case .didReceiveInformationalResponse: try informationalResponse(reader)
        case .needNewBodyStream: try needNewBodyStream(reader)
        case .didResumeAtOffset: try didResumeAtOffset(reader)
        case .willRetry: try willRetry(reader)
        case .didReceiveChallenge, .willPerformHTTPRedirection, .willCacheResponse,
            .willBeginDelayedRequest:
            try QuestionCoding(reader).body(kind)
        case .didReceiveResponse: try didReceiveResponse(reader)
        case .didBecomeDownloadTask: try didBecomeDownloadTask(reader)
        case .didDisableWebhook: try didDisableWebhook(reader)
        case .didReceiveData: try data(reader)
        case .didFinishCollectingMetrics:
            .didFinishCollectingMetrics(try TaskMetrics(reader, base: ""))
        case .didComplete: .didComplete(payload.isEmpty ? nil : try TransferError(reader))
        case .didBecomeInvalid: .didBecomeInvalid(payload.isEmpty ? nil : try TransferError(reader))
        }
    }

    /// The body that a completed task tells.
    package static func body(_ kind: EventKind, from outcome: TaskOutcome) throws(StoreError)
        -> EventBody
    {
        switch kind {
        case .didReceiveResponse:
            guard let response = outcome.response else { throw .damagedRecord }
            return .didReceiveResponse(response)
        case .didFinishCollectingMetrics: return .didFinishCollectingMetrics(outcome.metrics)
        case .didComplete: return .didComplete(outcome.error)
        default: throw .damagedRecord
        }
    }

    private static func savedPlace(_ reader: RecordReader) throws(StoreError) -> SavedPlace? {
        var reader = reader
        var place = SavedPlace(folder: "", path: "")
        while let field = try reader.next() {
            switch field {
            case Field.folder: place.folder = try reader.string()
            case Field.path: place.path = try reader.string()
            default: try reader.skip()
            }
        }
        return place.path.isEmpty ? nil : place
    }

    private static func informationalResponse(_ reader: RecordReader) throws(StoreError)
        -> EventBody
    {
        var reader = reader
        var status = 0
        var headers = HeaderList()
        while let field = try reader.next() {
            switch field {
            case Field.status: status = try reader.int()
            case Field.header: try reader.header(into: &headers)
            default: try reader.skip()
            }
        }
        return .didReceiveInformationalResponse(status: status, headers: headers)
    }

    private static func needNewBodyStream(_ reader: RecordReader) throws(StoreError) -> EventBody {
        var reader = reader
        var generation = 0
        var id: Int64 = 0
        var kind: DecisionKind?
        var deadline: Int64 = 0
        while let field = try reader.next() {
            switch field {
            case Field.generation: generation = try reader.int()
            case Field.decision: id = try reader.int64()
            case Field.decisionKind: kind = try reader.raw()
            case Field.deadline: deadline = try reader.int64()
            default: try reader.skip()
            }
        }
        guard let kind else { throw .damagedRecord }
        return .needNewBodyStream(
            generation: generation,
            decision: DecisionNotice(
                id: DecisionID(rawValue: id), kind: kind,
                deadline: Timestamp(milliseconds: deadline)))
    }

    /// One that asks has its response in a record of its own; all others are nothing but it.
    private static func didReceiveResponse(_ reader: RecordReader) throws(StoreError) -> EventBody {
        let question = try QuestionCoding(reader)
        guard !question.asks else { return try question.body(.didReceiveResponse) }
        return .didReceiveResponse(try ResponseRecord(clear: reader, secret: nil, base: ""))
    }

    private static func didBecomeDownloadTask(_ reader: RecordReader) throws(StoreError)
        -> EventBody
    {
        var reader = reader
        var task: TaskID?
        while let field = try reader.next() {
            switch field {
            case Field.downloadTask: task = TaskID(rawValue: try reader.int64())
            default: try reader.skip()
            }
        }
        guard let task else { throw .damagedRecord }
        return .didBecomeDownloadTask(task)
    }

    private static func didDisableWebhook(_ reader: RecordReader) throws(StoreError) -> EventBody {
        var reader = reader
        var webhook: WebhookID?
        var reason: WebhookDisabledReason?
        while let field = try reader.next() {
            switch field {
            case Field.webhook: webhook = WebhookID(rawValue: try reader.int64())
            case Field.reason: reason = try reader.raw()
            default: try reader.skip()
            }
        }
        guard let webhook, let reason else { throw .damagedRecord }
        return .didDisableWebhook(webhook, reason: reason)
    }

    private static func didResumeAtOffset(_ reader: RecordReader) throws(StoreError) -> EventBody {
        var reader = reader
        var offset: Int64 = 0
        var total: Int64 = 0
        while let field = try reader.next() {
            switch field {
            case Field.offset: offset = try reader.int64()
            case Field.total: total = try reader.int64()
            default: try reader.skip()
            }
        }
        return .didResumeAtOffset(fileOffset: offset, expectedTotalBytes: total)
    }

    private static func willRetry(_ reader: RecordReader) throws(StoreError) -> EventBody {
        var reader = reader
        var attempt = 0
        var delay = 0.0
        var reason = ""
        while let field = try reader.next() {
            switch field {
            case Field.attempt: attempt = try reader.int()
            case Field.delay: delay = try reader.double()
            case Field.reason: reason = try reader.string()
            default: try reader.skip()
            }
        }
        return .willRetry(attempt: attempt, delay: delay, reason: reason)
    }

    private static func data(_ reader: RecordReader) throws(StoreError) -> EventBody {
        var reader = reader
        var offset: Int64 = 0
        var length = 0
        while let field = try reader.next() {
            switch field {
            case Field.offset: offset = try reader.int64()
            case Field.length: length = try reader.int()
            default: try reader.skip()
            }
        }
        return .didReceiveData(offset: offset, length: length, inline: true, bytes: nil)
    }
}
