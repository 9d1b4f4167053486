internal import Loop
internal import Semantics

/// How a task's request goes on the wire, and what its answer means: rules of Semantics, applied to
/// records.
extension AttemptRequest {
    /// The task's current request.
    ///
    /// - Parameters:
    ///   - record: the task.
    ///   - live: its session, whose headers join the request's.
    ///   - range: what is asked for in place of the whole.
    ///   - body: what is sent.
    ///   - isLimited: whether a limit may hold the attempt up.
    ///   - decided: all fields that are sent, where the cache has had its say about them.
    ///   - method: in place of the request's own.
    @LoopActor
    init(
        _ record: TaskRecord, in live: LiveSession, asking range: RangeRequest?,
        sending body: AttemptBody?, isLimited: Bool, headers decided: HeaderList? = nil,
        method: String? = nil
    ) {
        let session = live.record
        let request = record.currentRequest
        var headers = decided ?? live.outgoingHeaders(of: record)
        let coding = ContentCoding(for: record.type, headers: record.headers(in: session))
        for field in range?.fields ?? [] { headers.append(field.name, field.value) }
        self.init(
            url: request.url, method: method ?? request.method, headers: headers, body: body,
            decodesContent: coding.decodes, priority: record.options.priority,
            // A reader may stop, and so may a disk, a writer or a limit: such an attempt goes on a
            // connection of its own.
            mayPause: record.options.delivery == .stream || record.type == .download || isLimited
                || request.body?.isStream == true
                || session.decides(.response, about: record.options))
        connectTimeout = request.timeoutInterval ?? session.configuration.timeoutIntervalForRequest
        if record.options.retry?.allowsNonIdempotent == true { mayRepeat = true }
        usesFreshConnection = request.body?.isStream == true
        proxy = session.configuration.connectionProxyDictionary?.proxy(for: request.url)
        let authentication = record.dialogue.authentication
        credential = live.credential(
            of: authentication.server, for: url.origin, method: self.method, uri: url.target)
        if let proxy {
            let isTunnel = url.isSecure
            proxyCredential = live.credential(
                of: authentication.proxy, for: proxy.origin,
                method: isTunnel ? "CONNECT" : self.method,
                uri: isTunnel ? url.authority : url.target)
        }
        trust = TrustPolicy(for: request.url, in: session)
        identity = IdentityPolicy(for: request.url, authentication, in: live)
    }
}

extension TrustPolicy {
    /// S-75: where the delegate decides whom to trust, only those that it has decided about.
    fileprivate init(for url: WebURL, in session: SessionRecord) {
        guard url.isSecure, session.delegate?.challengeKind(of: .serverTrust) != nil else {
            self = .system
            return
        }
        let origin = url.origin
        self = .known(
            session.knownLeaves.filter { $0.host == origin.host && $0.port == origin.port })
    }
}

extension IdentityPolicy {
    /// S-63: what was decided for this server, else the question, else what the session remembers.
    @LoopActor
    fileprivate init(
        for url: WebURL, _ authentication: TaskAuthentication, in session: LiveSession
    ) {
        let isDecided = authentication.identityOrigin == url.origin
        switch authentication.identity {
        case .certificate(let identity) where isDecided: self = .certificate(identity)
        case .without where isDecided: self = .without
        case _ where !url.isSecure: self = .without
        case _ where session.record.delegate?.challengeKind(of: .clientCertificate) != nil:
            self = .ask
        default: self = session.storedIdentity(for: url).map(IdentityPolicy.certificate) ?? .without
        }
    }
}

extension ResponseRecord {
    init(_ head: ResponseHead, to record: TaskRecord, in session: SessionRecord) {
        let request = record.currentRequest
        let coding = ContentCoding(for: record.type, headers: record.headers(in: session))
        let type = head.headers.first("Content-Type").flatMap(MediaType.init(parsing:))
        // Contradicting lengths have failed the attempt before its head came here.
        let length = (try? ContentLength.parse(head.headers.values(of: "Content-Length"))) ?? nil
        self.init(
            url: request.url.string, status: head.status, httpVersion: head.httpVersion,
            headers: head.headers,
            expectedContentLength: coding.expectedLength(
                contentLength: length, status: head.status, headers: head.headers),
            mimeType: type?.mimeType, textEncodingName: type?.textEncodingName,
            suggestedFilename: SuggestedFilename.choose(
                contentDisposition: head.headers.first("Content-Disposition"), url: request.url,
                mimeType: type?.mimeType))
    }
}

extension TaskRecord {
    /// The headers that the client has a say in, as they are sent.
    ///
    /// The session's join the first request only (S-20): a redirect goes on from what was sent, so
    /// that what it left behind at the border of an origin does not come back (S-69). So does a
    /// mirror.
    func headers(in session: SessionRecord) -> HeaderList {
        guard metrics.redirectCount == 0, mirrorCount == 0 else { return currentRequest.headers }
        return currentRequest.headers.merging(
            additional: session.configuration.httpAdditionalHeaders)
    }
}

extension RequestRecord {
    /// RFC 9110 §9.2.1: sent again after a crash, it does no harm.
    var isSafe: Bool { ["GET", "HEAD", "OPTIONS"].contains(method) }

    /// S-16: the longest silence of an attempt.
    func idleLimit(in session: SessionRecord) -> Duration {
        .seconds(timeoutInterval ?? session.configuration.timeoutIntervalForRequest)
    }

    /// The request that a redirect leads to.
    func redirected(to next: RedirectedRequest) -> RequestRecord {
        RequestRecord(
            url: next.url, method: next.method, headers: next.headers,
            sensitiveHeaders: sensitiveHeaders, cachePolicy: cachePolicy,
            timeoutInterval: timeoutInterval, body: next.dropsBody ? nil : body)
    }
}

extension CacheRequest {
    /// A task's current request, as it would be sent.
    @LoopActor
    init(_ record: TaskRecord, in session: LiveSession) {
        let request = record.currentRequest
        let coding = ContentCoding(for: record.type, headers: record.headers(in: session.record))
        self.init(
            method: request.method, url: request.url,
            headers: session.outgoingHeaders(of: record),
            policy: request.cachePolicy ?? session.record.configuration.requestCachePolicy,
            decodes: coding.decodes)
    }
}

extension OriginAnswer {
    /// The head of an answer, with what its links lead to.
    init(
        _ head: ResponseHead, at url: WebURL, requestTime: Timestamp, responseTime: Timestamp,
        resolve: (String) -> WebURL?
    ) {
        self.init(
            status: head.status, headers: head.headers, requestTime: requestTime,
            responseTime: responseTime,
            location: head.headers.first("Location").flatMap(resolve),
            contentLocation: head.headers.first("Content-Location").flatMap(resolve))
    }
}
