internal import Engine
internal import Semantics

/// What an event's body carries, as it is stored and read again.
enum EventCoding {
    private enum Field {
        static let status: UInt8 = 1
        static let header: UInt8 = 2
        static let offset: UInt8 = 1
        static let length: UInt8 = 2
    }

    /// Whether the body is told by the task that has completed: nothing of it changes any more
    /// (S-31).
    static func isDerived(_ body: EventBody, from task: TaskRecord) -> Bool {
        guard task.state == .completed else { return false }
        return switch body {
        case .didReceiveResponse(let response): task.response == response
        case .didFinishCollectingMetrics(let metrics): task.metrics == metrics
        case .didComplete(let error): task.error == error
        default: false
        }
    }

    /// Writes the body; both parts stay empty when the kind says it all.
    static func write(_ body: EventBody, to parts: inout RecordParts) {
        switch body {
        case .didReceiveInformationalResponse(let status, let headers):
            parts.clear.put(Field.status, status)
            headers.write(Field.header, to: &parts)
        case .didReceiveResponse(let response): response.write(to: &parts, base: "")
        case .didReceiveData(let offset, let length, _, _):
            parts.clear.put(Field.offset, offset)
            parts.clear.put(Field.length, length)
        case .didFinishCollectingMetrics(let metrics): metrics.write(to: &parts.clear, base: "")
        case .didComplete(let error), .didBecomeInvalid(let error): error?.write(to: &parts.clear)
        case .didCreate, .didFinishDownloading, .didWriteData, .didSendBodyData: break
        }
    }

    /// Reads a body from its payload.
    static func body(_ kind: EventKind, payload: [UInt8]) throws(StoreError) -> EventBody {
        let reader = RecordReader(payload)
        return switch kind {
        case .didCreate: .didCreate
        case .didFinishDownloading: .didFinishDownloading
        case .didReceiveInformationalResponse: try informationalResponse(reader)
        case .didReceiveResponse:
            .didReceiveResponse(try ResponseRecord(clear: reader, secret: nil, base: ""))
        case .didReceiveData: try data(reader)
        case .didFinishCollectingMetrics:
            .didFinishCollectingMetrics(try TaskMetrics(reader, base: ""))
        case .didComplete: .didComplete(payload.isEmpty ? nil : try TransferError(reader))
        case .didBecomeInvalid: .didBecomeInvalid(payload.isEmpty ? nil : try TransferError(reader))
        }
    }

    /// The body that a completed task tells.
    static func body(_ kind: EventKind, from outcome: TaskOutcome) throws(StoreError) -> EventBody {
        switch kind {
        case .didReceiveResponse:
            guard let response = outcome.response else { throw .damagedRecord }
            return .didReceiveResponse(response)
        case .didFinishCollectingMetrics: return .didFinishCollectingMetrics(outcome.metrics)
        case .didComplete: return .didComplete(outcome.error)
        default: throw .damagedRecord
        }
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

extension SealContext {
    /// An event's payload.
    static func event(_ sequence: Int64, of session: SessionID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: session.rawValue, field: "event \(sequence)")
    }

    /// A session's configuration.
    static func constants(of session: SessionID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: session.rawValue, field: "constants")
    }

    /// A task's original request.
    static func request(of task: TaskID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: task.rawValue, field: "request")
    }

    /// A task's status.
    static func status(of task: TaskID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: task.rawValue, field: "status")
    }

    /// A content.
    static func content(of task: TaskID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: task.rawValue, field: "content")
    }
}
