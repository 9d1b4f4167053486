package import Engine
package import Semantics

/// Packs the events of one session in one commit, at about six bytes each.
///
/// A pack is a version and then, for each event, numbers as differences to the event before: a
/// header (kind, whether there is a task, form of the payload), sequence, tenant sequence, instant,
/// task, and the payload behind its length.
package struct EventPackWriter {
    package static let version: UInt64 = 1

    package let tenant: TenantID
    package let session: SessionID
    package let firstSequence: Int64
    package private(set) var lastSequence: Int64 = 0
    private var writer = RecordWriter()
    package private(set) var newestTenantSequence: Int64 = 0
    private var tenantSequence: Int64 = 0
    private var at: Int64 = 0
    private var task: Int64 = 0

    package var bytes: [UInt8] { writer.bytes }

    /// A pack that begins with this event, which is still to be appended.
    package init(startingAt event: Event) {
        self.init(of: event.tenant, event.session, firstSequence: event.sequence)
    }

    /// A pack of events that are all still to be appended.
    package init(of tenant: TenantID, _ session: SessionID, firstSequence: Int64) {
        self.tenant = tenant
        self.session = session
        self.firstSequence = firstSequence
        writer.varint(Self.version)
    }

    /// Appends an event; `payload` is what its body carries.
    package mutating func append(_ event: Event, _ payload: EventPayload) {
        append(
            PackedEvent(
                kind: EventKind(event.body), sequence: event.sequence,
                tenantSequence: event.tenantSequence, at: event.at, task: event.task,
                payload: payload))
    }

    /// Appends an event as it lay in another pack.
    package mutating func append(_ event: PackedEvent) {
        let payload = event.payload
        writer.varint(
            UInt64(event.kind.rawValue) << 3 | (event.task == nil ? 0 : 1) << 2
                | UInt64(payload.form.rawValue))
        writer.varint(zigzag: event.sequence &- lastSequence)
        writer.varint(zigzag: event.tenantSequence &- tenantSequence)
        writer.varint(zigzag: event.at.milliseconds &- at)
        lastSequence = event.sequence
        tenantSequence = event.tenantSequence
        newestTenantSequence = max(newestTenantSequence, tenantSequence)
        at = event.at.milliseconds
        if let number = event.task?.rawValue {
            writer.varint(zigzag: number &- task)
            task = number
        }
        switch payload {
        case .none, .derived: break
        case .clear(let bytes), .sealed(let bytes): writer.chunk(bytes)
        }
    }
}

/// An event as it lies in a pack.
package struct PackedEvent {
    package let kind: EventKind
    package let sequence: Int64
    package let tenantSequence: Int64
    package let at: Timestamp
    package let task: TaskID?
    package var payload: EventPayload
}

/// What of an event's body is stored with it.
package enum EventPayload: Equatable {
    /// The kind says it all.
    case none
    /// It is the completed task's own: its response, its metrics, its error.
    case derived
    case clear([UInt8])
    case sealed([UInt8])

    package enum Form: UInt8 {
        case none = 0
        case derived = 1
        case clear = 2
        case sealed = 3
    }

    package var form: Form {
        switch self {
        case .none: .none
        case .derived: .derived
        case .clear: .clear
        case .sealed: .sealed
        }
    }
}

/// The events that are kept, by number.
package enum EventKind: UInt8 {
    case didCreate = 1
    case didReceiveInformationalResponse = 2
    case didReceiveResponse = 3
    case didReceiveData = 4
    case didFinishDownloading = 5
    case didFinishCollectingMetrics = 6
    case didComplete = 7
    case didBecomeInvalid = 8
    case needNewBodyStream = 9
    case didResumeAtOffset = 10
    case willRetry = 11
    case didReceiveChallenge = 12
    case willPerformHTTPRedirection = 13
    case didBecomeDownloadTask = 14
    case willCacheResponse = 15
    case willBeginDelayedRequest = 16
    case isWaitingForConnectivity = 17
    case didChangeCredentialStorage = 18
    case didFinishEvents = 19
    case didChange = 20
    case didDelete = 21
    case didDisableWebhook = 22

    package init(_ body: EventBody) {
        self =
            switch body {
            case .didCreate: .didCreate
            case .didReceiveInformationalResponse: .didReceiveInformationalResponse
            case .didReceiveResponse: .didReceiveResponse
            case .didReceiveData: .didReceiveData
            case .didFinishDownloading: .didFinishDownloading
            case .didFinishCollectingMetrics: .didFinishCollectingMetrics
            case .didComplete: .didComplete
            case .didBecomeInvalid: .didBecomeInvalid
            case .needNewBodyStream: .needNewBodyStream
            case .didResumeAtOffset: .didResumeAtOffset
            case .willRetry: .willRetry
            case .didReceiveChallenge: .didReceiveChallenge
            case .willPerformHTTPRedirection: .willPerformHTTPRedirection
            case .didBecomeDownloadTask: .didBecomeDownloadTask
            case .willCacheResponse: .willCacheResponse
            case .willBeginDelayedRequest: .willBeginDelayedRequest
            case .isWaitingForConnectivity: .isWaitingForConnectivity
            case .didChangeCredentialStorage: .didChangeCredentialStorage
            case .didFinishEvents: .didFinishEvents
            case .didChange: .didChange
            case .didDelete: .didDelete
            case .didDisableWebhook: .didDisableWebhook
            case .didWriteData, .didSendBodyData:
                preconditionFailure("progress is not numbered and not kept (S-59)")
            }
    }

    /// Whether a task's stream ends with it (S-57).
    package var endsTask: Bool { self == .didComplete || self == .didBecomeDownloadTask }
}

/// Reads the events of a pack, in their order.
package struct EventPackReader {
    private var reader: RecordReader
    private var sequence: Int64 = 0
    private var tenantSequence: Int64 = 0
    private var at: Int64 = 0
    private var task: Int64 = 0

    package init(_ bytes: [UInt8]) throws(StoreError) {
        reader = RecordReader(bytes)
        guard try reader.varint() == EventPackWriter.version else {
            throw .damaged("Stored events are of a version that this gateway does not know.")
        }
    }

    /// The next event; nil at the end.
    package mutating func next() throws(StoreError) -> PackedEvent? {
        guard !reader.isAtEnd else { return nil }
        let header = try reader.varint()
        guard let number = UInt8(exactly: header >> 3), let kind = EventKind(rawValue: number),
            let form = EventPayload.Form(rawValue: UInt8(header & 3))
        else { throw .damagedRecord }
        sequence &+= try reader.zigzag()
        tenantSequence &+= try reader.zigzag()
        at &+= try reader.zigzag()
        let hasTask = header & 4 != 0
        if hasTask { task &+= try reader.zigzag() }
        let payload: EventPayload =
            switch form {
            case .none: .none
            case .derived: .derived
            case .clear: .clear(Array(try reader.chunk()))
            case .sealed: .sealed(Array(try reader.chunk()))
            }
        return PackedEvent(
            kind: kind, sequence: sequence, tenantSequence: tenantSequence,
            at: Timestamp(milliseconds: at), task: hasTask ? TaskID(rawValue: task) : nil,
            payload: payload)
    }
}
