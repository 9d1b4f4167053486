public import Syntax

/// What a cache keeps of a response beside its content (RFC 9111 §3).
public struct StoredResponse: Equatable, Sendable {
    /// Unique in the cache; names the content that is kept with it.
    public let id: Int64
    /// What it is found by.
    public let key: CacheKey
    /// Which requests it answers, among all with this key.
    public var selecting: SelectingFields
    /// 200…599, and neither 206 nor 304.
    public let status: Int
    /// `1.0`, `1.1`, `2`: how it came.
    public let httpVersion: String
    /// Without those that are not stored; there is always a `Date`.
    public var headers: HeaderList {
        didSet {
            control = CacheControl(of: headers)
            readTimes()
        }
    }
    /// What its `Cache-Control` says; read once, for every use asks it several times.
    public private(set) var control: CacheControl
    /// When the origin made it: its `Date`; without one that can be read, when it arrived.
    public private(set) var date: HTTPDate
    /// What its `Age` says, in seconds (§5.1).
    private(set) var ageValue: Int64 = 0
    /// For how long it is fresh from its making, in seconds, at least 0 (§4.2.1, for a private
    /// cache).
    public private(set) var freshnessLifetime: Int64 = 0
    /// When the request that it, or what last updated it, answered was sent (§4.2.3).
    public var requestTime: Timestamp
    /// When its head, or that of what last updated it, arrived (§4.2.3).
    public var responseTime: Timestamp { didSet { readTimes() } }
    /// Bytes that are kept.
    public var length: Int64
    /// Whether what is kept has lost the content coding that the headers name (S-76).
    public let isDecoded: Bool
    /// Whether an answer to HEAD has shown it to be out of date (§4.3.5): it is used after
    /// validation only.
    public var isOutdated: Bool

    /// A stored response from its parts.
    public init(
        id: Int64, key: CacheKey, selecting: SelectingFields, status: Int, httpVersion: String,
        headers: HeaderList, requestTime: Timestamp, responseTime: Timestamp, length: Int64,
        isDecoded: Bool, isOutdated: Bool = false
    ) {
        self.id = id
        self.key = key
        self.selecting = selecting
        self.status = status
        self.httpVersion = httpVersion
        self.headers = headers
        self.control = CacheControl(of: headers)
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.length = length
        self.isDecoded = isDecoded
        self.isOutdated = isOutdated
        self.date = responseTime.httpDate
        readTimes()
    }

    /// What is stored of a response that `Storability` lets pass, once its content is there to its
    /// end; nil for `Vary: *`, which it does not let pass.
    ///
    /// - Parameters:
    ///   - id: unique in the cache.
    ///   - request: the client's, without conditions that the cache added.
    ///   - status: the response's.
    ///   - httpVersion: `1.0`, `1.1`, `2`.
    ///   - headers: the response's, as they came.
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the response's head was there.
    ///   - length: bytes that are kept.
    public init?(
        id: Int64, answering request: CacheRequest, status: Int, httpVersion: String,
        headers: HeaderList, requestTime: Timestamp, responseTime: Timestamp, length: Int64
    ) {
        guard let selecting = SelectingFields(vary: headers, of: request.headers) else {
            return nil
        }
        self.init(
            id: id, key: request.key, selecting: selecting, status: status,
            httpVersion: httpVersion,
            headers: StoredFields.kept(of: headers, receivedAt: responseTime),
            requestTime: requestTime, responseTime: responseTime, length: length,
            isDecoded: request.isDecoded(headers, status: status))
    }

    /// Whether its content answers a request for the same URL: `Vary` agrees, and so does the
    /// content coding.
    ///
    /// A content that was decoded is no answer for a task that wants the coded bytes, nor the other
    /// way round; one that never was coded answers both.
    public func answers(_ request: CacheRequest) -> Bool {
        isDecoded == request.isDecoded(headers, status: status)
            && selecting.match(request.headers)
    }

    /// Which stored responses give their place to this one when it is stored: those to the same
    /// request. Of two that were asked for at the same time the origin tells which one is the most
    /// recent, and that stays (RFC 9111 §4).
    ///
    /// - Parameters:
    ///   - request: what this one answers.
    ///   - stored: all that is there for the request's key.
    /// - Returns: nil where one of them is more recent: then this one is not stored.
    public func predecessors(
        answering request: CacheRequest, among stored: [StoredResponse]
    ) -> [StoredResponse]? {
        let equals = stored.filter { $0.answers(request) }
        return equals.contains { $0.hasOvertaken(self) } ? nil : equals
    }

    /// Whether this one, which is there, is more recent than another that comes now: it has come
    /// since that was asked for, and was made later.
    private func hasOvertaken(_ other: StoredResponse) -> Bool {
        responseTime > other.requestTime && date > other.date
    }

    /// Reads what its use asks about with every request, and dates cost the most to read.
    private mutating func readTimes() {
        let received = responseTime.httpDate
        date = headers.first("Date").flatMap { HTTPDate(cacheField: $0, now: received) } ?? received
        ageValue = Freshness.age(of: headers)
        freshnessLifetime = Freshness.lifetime(
            of: status, headers, control, made: date, received: received)
    }
}

extension StoredResponse {
    /// What it counts against a capacity (S-24), in bytes: the content, the texts, and `overhead`
    /// for what holds them.
    public var size: Int64 {
        min(length, .max / 2) + Int64(headers.byteCount + selecting.byteCount + key.url.utf8.count)
            + Self.overhead
    }

    /// What a stored response costs beside its bytes: a row, an index, a name of a file.
    public static let overhead: Int64 = 512
}

extension CacheCapacity {
    /// Whether a response of this size is kept in RAM: it must not push out more than a twentieth
    /// of what is there.
    public func memoryAdmits(_ size: Int64) -> Bool { size <= memoryCapacity / Self.share }

    /// Whether a response of this size is kept on disk.
    ///
    /// A twentieth, as in Foundation
    /// (`urlSession(_:dataTask:willCacheResponse:completionHandler:)`: "no larger than about 5% of
    /// the disk cache size").
    public func diskAdmits(_ size: Int64) -> Bool { size <= diskCapacity / Self.share }

    private static let share: Int64 = 20
}
