/// What a task does with the bodies of its request and its response (S-29).
public enum TaskType: String, CaseIterable, Sendable {
    case data, download, upload
}

/// Where a task is in its life, as clients see it (S-31): nothing leaves `completed`.
public enum TaskState: String, CaseIterable, Sendable {
    case suspended, running, canceling, completed
}

/// Why a running task has no transfer at the moment.
public enum WaitReason: String, CaseIterable, Sendable {
    case decision, connectivity
    /// `earliestBeginDate` lies ahead (S-44).
    case beginDate
    /// As many transfers to the host as allowed are on their way (S-19).
    case slot
    /// The gateway is not quiet, and the task may be put off (S-27).
    case quietTime
    case bodyStream
    /// An attempt has failed, and the next one comes at `nextAttemptAt`.
    case retry
    /// The gateway's disk is full, or the tenant stores all that it may.
    case room
}

/// S-41: whether a data task's body is kept.
public enum Delivery: String, Sendable {
    /// Kept whole until the task is deleted or expires; read as often as one likes.
    case collect
    /// Kept nowhere: the bytes go to one reader, whose pace is the origin's.
    case stream
}

/// S-42: NSURLSessionTransferSizeUnknown.
public let unknownSize: Int64 = -1

/// A request as a client gave it or a redirect made it.
public struct RequestRecord: Equatable, Sendable {
    /// As the one parser wrote it: normal form, without a fragment.
    public var url: WebURL
    /// A token (RFC 9110 §9.1) as the client wrote it: upper and lower case differ.
    public var method: String
    /// The request's own fields; the session's (S-20) are added when it is sent.
    public var headers: HeaderList
    /// Names beyond the always sensitive ones whose values are never shown.
    public var sensitiveHeaders: [String]
    /// S-15; nil takes the session's `requestCachePolicy`.
    public var cachePolicy: RequestCachePolicy?
    /// Seconds; nil takes the session's `timeoutIntervalForRequest`.
    public var timeoutInterval: Double?
    /// What is sent; nil for none.
    public var body: BodyRecord?
    /// Whether it was made for a mirror at another origin than that of the task's own request: what
    /// of the session's fields is for one origin alone does not join it (S-69).
    public var isForMirror = false

    /// A request from its parts: GET without headers and body where nothing else is said.
    public init(
        url: WebURL, method: String = "GET", headers: HeaderList = HeaderList(),
        sensitiveHeaders: [String] = [], cachePolicy: RequestCachePolicy? = nil,
        timeoutInterval: Double? = nil, body: BodyRecord? = nil
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
    /// The URL that answered: the last one, after redirects.
    public var url: String
    /// 200…999; a 4xx or 5xx is a response like any other (S-49).
    public var status: Int
    /// `1.0`, `1.1`, `2`.
    public var httpVersion: String
    /// As they came, in their order, also where the content was decoded (S-76).
    public var headers: HeaderList
    /// Bytes that will be delivered, or `unknownSize`.
    public var expectedContentLength: Int64
    /// The type of Content-Type in lower case, such as `text/html`; nil without a valid one.
    public var mimeType: String?
    /// The charset of Content-Type in lower case, such as `utf-8`; nil without one.
    public var textEncodingName: String?
    /// A plain file name, safe to use as one: at most 255 bytes, never empty.
    public var suggestedFilename: String

    /// A head from its parts.
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
        /// In a file of the content folder, or of another place, named by the task and the series.
        case file
        /// In the folder of the task's destination; `TaskRecord.saved` tells which file.
        case folder
    }

    /// Bytes as they are delivered: after decoding (S-76).
    public var length: Int64
    /// Small contents lie in the store, others in files.
    public var place: Place
    /// The content's own digest, `sha-256=:…:` (RFC 9530); nil unless it was asked for.
    public var digest: String?
    /// False when the end was told by the connection's end only.
    public var lengthVerified: Bool
    /// Whether the task failed before the end: events have told of these bytes, and more there are
    /// not (S-58).
    public var isPart: Bool
    /// Of one in a file, the series in which that was put; nil where it has none.
    public var series: Int64?

    /// A content from its parts.
    public init(
        length: Int64, place: Place, digest: String?, lengthVerified: Bool, isPart: Bool = false,
        series: Int64? = nil
    ) {
        self.series = series
        self.length = length
        self.place = place
        self.digest = digest
        self.lengthVerified = lengthVerified
        self.isPart = isPart
    }
}

/// The part of a download that outlives its transfer.
public struct DownloadCheckpoint: Hashable, Sendable {
    /// What is there, and what the entity must still be.
    public var point: ResumePoint
    /// The task whose part file has the bytes: another one than the record's until a download from
    /// resume data has made them its own.
    public var part: TaskID
    /// Under which number stretches of the task's own part were sent ahead, for another node to go
    /// on behind them; nil where none were. A part that begins anew gets another one.
    public var series: Int64?

    /// A checkpoint from its parts.
    public init(point: ResumePoint, part: TaskID, series: Int64? = nil) {
        self.point = point
        self.part = part
        self.series = series
    }
}

/// How long a task has before it fails with -1001 (S-17, S-18).
public enum ResourceTime: Hashable, Sendable {
    /// It runs out at this instant.
    case until(KeptTime)
    /// It stands while the task is suspended, with so much left.
    case left(Duration)
}

/// What a client asks for beside the request.
public struct TaskOptions: Equatable, Sendable {
    /// A client's own words, at most 1,024 bytes of UTF-8; nil for none.
    public var description: String?
    /// What the client keeps with the task for itself; see `Metadata`.
    public var metadata: [String: String] = [:]
    /// S-43: 0…1; the greater goes first.
    public var priority = 0.5
    /// S-41; `stream` is for data tasks only.
    public var delivery = Delivery.collect
    /// The name that the content is offered under, in place of the origin's.
    public var fileName: String?
    /// What the content must have: another one fails the task. Nil checks nothing.
    public var expectedDigest: ContentDigest?
    /// Whether `ContentRecord.digest` is made where no digest is expected.
    public var computeDigest = false
    /// S-44: a resumed task waits until then; nil begins at once.
    public var earliestBeginDate: Timestamp?
    /// S-44: bytes; kept and shown, for the client's own book-keeping.
    public var countOfBytesClientExpectsToSend = unknownSize
    /// S-44: bytes; kept and shown, for the client's own book-keeping.
    public var countOfBytesClientExpectsToReceive = unknownSize
    /// Bytes of bodies a second, either way; nil for no limit of its own.
    public var maximumBytesPerSecond: Int64?
    /// How many ranges of a download are fetched side by side where the server lets them: 1…16.
    public var connections = 1
    /// Where a download is tried next when its source has failed, in this order.
    public var mirrors: [WebURL] = []
    /// Whether, when and how often an attempt that failed is made again; nil for never.
    public var retry: RetryPolicy?
    /// S-78: whether the creation is answered with the content, which stands for the delegate's say
    /// about the response.
    public var hasCompletionHandler = false
    /// Where a download is saved on this machine; nil keeps it among the contents.
    public var destination: SaveDestination?

    /// The defaults.
    public init() {}
}

/// A task as it is kept: everything that is shown, and what a restart needs. Its members are those
/// of `TaskFields`.
///
/// It is copied at every step of a task's life, which costs one reference: all of it lies in a box.
@dynamicMemberLookup
public struct TaskRecord: Equatable, Sendable {
    @usableFromInline var fields: Boxed<TaskFields>

    /// A task that has just been created: suspended, nothing sent.
    public init(
        id: TaskID, tenant: TenantID, session: SessionID, number: Int, type: TaskType,
        options: TaskOptions, request: RequestRecord, createdAt: Timestamp
    ) {
        self.init(
            id: id, tenant: tenant, session: session, number: number, type: type,
            options: Boxed(wrappedValue: options), request: Boxed(wrappedValue: request),
            createdAt: createdAt)
    }

    /// The same, of what lies in boxes already.
    public init(
        id: TaskID, tenant: TenantID, session: SessionID, number: Int, type: TaskType,
        options: Boxed<TaskOptions>, request: Boxed<RequestRecord>, createdAt: Timestamp
    ) {
        fields = Boxed(
            wrappedValue: TaskFields(
                id: id, tenant: tenant, session: session, number: number, type: type,
                options: options, request: request, createdAt: createdAt))
    }

    /// What of the task stays as it is.
    @inlinable
    public subscript<Value>(dynamicMember path: KeyPath<TaskFields, Value>) -> Value {
        fields.box.value[keyPath: path]
    }

    /// What of the task may change.
    @inlinable
    public subscript<Value>(dynamicMember path: WritableKeyPath<TaskFields, Value>) -> Value {
        get { fields.box.value[keyPath: path] }
        _modify { yield &fields.wrappedValue[keyPath: path] }
    }
}

/// What a task's record has.
public struct TaskFields: Equatable, Sendable {
    /// Unique in the gateway, and in the order of creation.
    public let id: TaskID
    /// Whom the task belongs to; for other tenants it does not exist.
    public let tenant: TenantID
    /// The session whose configuration and connections the task uses.
    public let session: SessionID
    /// NSURLSessionTask.taskIdentifier: 1, 2, … within the session.
    public let number: Int
    /// Fixed at the creation.
    public let type: TaskType
    /// What a client may still change, and what it may not: see `TaskChange` in Engine.
    @Boxed public var options: TaskOptions
    /// As the client gave it.
    @Boxed public private(set) var originalRequest: RequestRecord
    /// What is fetched now: the original request until a redirect is followed (S-47).
    @Boxed public var currentRequest: RequestRecord
    /// What the request was called that has created the task; empty where nobody knows.
    public var requestID = ""
    /// The trace that this request belonged to; nil for none.
    @BoxedIfAny public var traceContext: TraceContext? = nil
    /// S-31; `TaskMachine` says what may follow what.
    public var state: TaskState
    /// Set while an attempt may be on the wire: what S-56 ends at the next start.
    public var hasLiveAttempt: Bool
    /// By the wall clock; the order of creation is that of `id`.
    public let createdAt: Timestamp
    /// The first resume; nil until then.
    public var startedAt: Timestamp?
    /// What is left of the whole task's time; nil for all of it from `startedAt` on, and for a task
    /// that has completed.
    public var resourceTime: ResourceTime?
    /// The end, by the wall clock; nil until then.
    public var completedAt: Timestamp?
    /// The same instant by the clock that retention goes by: from here the time to live of the
    /// result counts (S-60).
    public var keptSince: KeptTime?
    /// The final response, once its head is there; a redirect that is followed is none.
    @BoxedIfAny public var response: ResponseRecord? = nil
    /// S-42: body bytes as they are delivered, after decoding (S-76).
    public var countOfBytesReceived: Int64
    /// S-42: `unknownSize` until the response tells, and where it does not.
    public var countOfBytesExpectedToReceive: Int64
    /// S-42: body bytes that the newest attempt with a body has sent.
    public var countOfBytesSent: Int64
    /// S-42: the length of the newest body; 0 without one.
    public var countOfBytesExpectedToSend: Int64
    /// Set when the whole body is kept, or what has come of one that failed; nil before, for
    /// `Delivery.stream`, and after HEAD for all but downloads.
    public var content: ContentRecord?
    /// The file in the folder of the destination: staged, and once the task has completed in its
    /// place; nil before, and without a destination.
    @BoxedIfAny public var saved: SavedFile? = nil
    /// S-31: calls of `suspend` that wait for their `resume`, which is one at the creation (S-30).
    public var suspendCount: Int
    /// S-27: whether the task is put off to a quiet time; no more once that has been so for long.
    public var isDiscretionary: Bool
    /// S-55: why the operator ends the task, while it is ending.
    public var cancellation: BackgroundCancellation?
    /// The completed task that this one repeats; nil for one that repeats none.
    public var retryOf: TaskID?
    /// How often the task was tried again.
    public var retryCount: Int
    /// How often because `TaskOptions.retry` says so: in a background session others are free
    /// (S-52).
    public var policyRetryCount = 0
    /// When the next attempt follows one that has failed, by the wall clock; nil where none is
    /// waited for.
    public var nextAttemptAt: Timestamp?
    /// How many of `TaskOptions.mirrors` have been turned to.
    public var mirrorCount: Int
    /// How many redirects `metrics` counts of sources and tries before the present one.
    public var redirectsBefore: Int
    /// S-39: which body the client was asked for last, 1, 2, …; 0 before the first, and without a
    /// stream.
    public var bodyGeneration: Int
    /// S-82: whether the content is one part of a body that replaces itself, which no request
    /// brings once more.
    public var isOnePart: Bool
    /// What the task's delegate was asked, and has answered, as far as it matters later.
    public var dialogue: TaskDialogue
    /// What of a download is on disk for good, and how it can go on; nil where it cannot (S-34).
    @BoxedIfAny public var checkpoint: DownloadCheckpoint? = nil
    /// Why the task failed (S-61); nil until it has, and after a success.
    @BoxedIfAny public var error: TransferError? = nil
    /// S-47: grows by one transaction with each exchange.
    public var metrics: TaskMetrics

    init(
        id: TaskID, tenant: TenantID, session: SessionID, number: Int, type: TaskType,
        options: Boxed<TaskOptions>, request: Boxed<RequestRecord>, createdAt: Timestamp
    ) {
        self.id = id
        self.tenant = tenant
        self.session = session
        self.number = number
        self.type = type
        self._options = options
        self._originalRequest = request
        self._currentRequest = request
        self.state = .suspended
        self.hasLiveAttempt = false
        self.createdAt = createdAt
        self.countOfBytesReceived = 0
        self.countOfBytesExpectedToReceive = unknownSize
        self.countOfBytesSent = 0
        self.countOfBytesExpectedToSend = request.wrappedValue.body?.length ?? 0
        self.suspendCount = 1
        self.isDiscretionary = false
        self.retryCount = 0
        self.mirrorCount = 0
        self.redirectsBefore = 0
        self.bodyGeneration = 0
        self.isOnePart = false
        self.dialogue = TaskDialogue()
        self.metrics = TaskMetrics()
    }
}

extension TaskRecord {
    /// Where the file of a completed task has been saved.
    public var savedPlace: SavedPlace? {
        guard let saved = self.saved, let destination = self.options.destination else { return nil }
        return SavedPlace(folder: destination.folder, path: saved.path)
    }

    /// Whether the content is whole and in its place, but the task has not completed: it is being
    /// saved in a folder, the delegate is asked whether it may be cached, or the task is suspended.
    public var isContentKept: Bool {
        self.content.map { !$0.isPart } == true && self.state != .completed
    }

    /// Whether the content is whole, and on its way into the folder of the destination.
    public var isBeingSaved: Bool { self.saved != nil && isContentKept }

    /// S-42: 0…1, or nil while the size is unknown.
    public var progress: Double? {
        guard self.countOfBytesExpectedToReceive > 0 else {
            return self.state == .completed && self.error == nil ? 1 : nil
        }
        return min(
            1, Double(self.countOfBytesReceived) / Double(self.countOfBytesExpectedToReceive))
    }
}
