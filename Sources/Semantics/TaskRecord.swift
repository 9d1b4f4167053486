/// S-29; upload tasks come with their own work.
public enum TaskType: String, CaseIterable, Sendable {
    case data, download, upload
}

/// S-31.
public enum TaskState: String, CaseIterable, Sendable {
    case suspended, running, canceling, completed
}

/// Why a running task has no transfer at the moment.
public enum WaitReason: String, Sendable {
    case decision, connectivity, beginDate, slot, bodyStream
}

/// S-41: whether a data task's body is kept.
public enum Delivery: String, Sendable {
    case collect, stream
}

/// S-42: NSURLSessionTransferSizeUnknown.
public let unknownSize: Int64 = -1

/// A request as a client gave it or a redirect made it.
public struct RequestRecord: Equatable, Sendable {
    /// As the one parser wrote it: normal form, without a fragment.
    public var url: WebURL
    public var method: String
    public var headers: HeaderList
    /// Names beyond the always sensitive ones whose values are never shown.
    public var sensitiveHeaders: [String]
    public var cachePolicy: RequestCachePolicy?
    /// Seconds; nil takes the session's `timeoutIntervalForRequest`.
    public var timeoutInterval: Double?
    /// The bytes to send; nil for none.
    public var body: [UInt8]?

    public init(
        url: WebURL, method: String = "GET", headers: HeaderList = HeaderList(),
        sensitiveHeaders: [String] = [], cachePolicy: RequestCachePolicy? = nil,
        timeoutInterval: Double? = nil, body: [UInt8]? = nil
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.sensitiveHeaders = sensitiveHeaders
        self.cachePolicy = cachePolicy
        self.timeoutInterval = timeoutInterval
        self.body = body
    }
}

/// The head of an answer (NSHTTPURLResponse).
public struct ResponseRecord: Equatable, Sendable {
    public var url: String
    public var status: Int
    /// `1.0`, `1.1`, `2`.
    public var httpVersion: String
    public var headers: HeaderList
    /// Bytes that will be delivered, or `unknownSize`.
    public var expectedContentLength: Int64
    public var mimeType: String?
    public var textEncodingName: String?
    public var suggestedFilename: String

    public init(
        url: String, status: Int, httpVersion: String, headers: HeaderList,
        expectedContentLength: Int64, mimeType: String?, textEncodingName: String?,
        suggestedFilename: String
    ) {
        self.url = url
        self.status = status
        self.httpVersion = httpVersion
        self.headers = headers
        self.expectedContentLength = expectedContentLength
        self.mimeType = mimeType
        self.textEncodingName = textEncodingName
        self.suggestedFilename = suggestedFilename
    }
}

/// A body that is kept whole.
public struct ContentRecord: Equatable, Sendable {
    /// Where the bytes are.
    public enum Place: String, Sendable {
        /// In the store, beside the task's row.
        case store
        /// In a file of the content folder, named by the task.
        case file
    }

    public var length: Int64
    public var place: Place
    /// The content's own digest when it was asked for: `sha-256=:…:`.
    public var digest: String?
    /// False when the end was told by the connection's end only.
    public var lengthVerified: Bool

    public init(length: Int64, place: Place, digest: String?, lengthVerified: Bool) {
        self.length = length
        self.place = place
        self.digest = digest
        self.lengthVerified = lengthVerified
    }
}

/// What a client asks for beside the request.
public struct TaskOptions: Equatable, Sendable {
    public var description: String?
    /// S-43: 0…1.
    public var priority = 0.5
    public var delivery = Delivery.collect
    /// The name that the content is offered under, in place of the origin's.
    public var fileName: String?
    public var expectedDigest: ContentDigest?
    public var computeDigest = false
    /// S-44.
    public var earliestBeginDate: Timestamp?
    /// S-44.
    public var countOfBytesClientExpectsToSend = unknownSize
    /// S-44.
    public var countOfBytesClientExpectsToReceive = unknownSize
    public init() {}
}

/// A task as it is kept: everything that is shown, and what a restart needs.
public struct TaskRecord: Equatable, Sendable {
    public let id: TaskID
    public let tenant: TenantID
    public let session: SessionID
    /// NSURLSessionTask.taskIdentifier: 1, 2, … within the session.
    public let number: Int
    public let type: TaskType
    public var options: TaskOptions
    public let originalRequest: RequestRecord
    public var currentRequest: RequestRecord
    public var state: TaskState
    /// Set while an attempt may be on the wire: what S-56 ends at the next start.
    public var hasLiveAttempt: Bool
    public let createdAt: Timestamp
    /// The first resume.
    public var startedAt: Timestamp?
    public var completedAt: Timestamp?
    public var response: ResponseRecord?
    public var countOfBytesReceived: Int64
    public var countOfBytesExpectedToReceive: Int64
    public var countOfBytesSent: Int64
    public var countOfBytesExpectedToSend: Int64
    public var content: ContentRecord?
    public var error: TransferError?
    public var metrics: TaskMetrics

    /// A task that has just been created: suspended, nothing sent.
    public init(
        id: TaskID, tenant: TenantID, session: SessionID, number: Int, type: TaskType,
        options: TaskOptions, request: RequestRecord, createdAt: Timestamp
    ) {
        self.id = id
        self.tenant = tenant
        self.session = session
        self.number = number
        self.type = type
        self.options = options
        self.originalRequest = request
        self.currentRequest = request
        self.state = .suspended
        self.hasLiveAttempt = false
        self.createdAt = createdAt
        self.countOfBytesReceived = 0
        self.countOfBytesExpectedToReceive = unknownSize
        self.countOfBytesSent = 0
        self.countOfBytesExpectedToSend = Int64(request.body?.count ?? 0)
        self.metrics = TaskMetrics()
    }

    /// S-42: 0…1, or nil while the size is unknown.
    public var progress: Double? {
        guard countOfBytesExpectedToReceive > 0 else {
            return state == .completed && error == nil ? 1 : nil
        }
        return min(1, Double(countOfBytesReceived) / Double(countOfBytesExpectedToReceive))
    }
}
