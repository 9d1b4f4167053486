internal import Loop
internal import Semantics

/// How the tasks of a session ask: rules of Semantics, applied to records.
extension LiveSession {
    /// A task's current request.
    ///
    /// - Parameters:
    ///   - task: whose it is.
    ///   - range: what is asked for in place of the whole.
    ///   - body: what is sent.
    ///   - isLimited: whether a limit may hold the attempt up.
    ///   - decided: all fields that are sent, where the cache has had its say about them.
    ///   - method: in place of the request's own.
    /// - Returns: the request, with what proves who sends it.
    func attemptRequest(
        for task: TaskRecord, asking range: RangeRequest?, sending body: AttemptBody?,
        isLimited: Bool, headers decided: HeaderList? = nil, method: String? = nil
    ) -> AttemptRequest {
        let request = task.currentRequest
        var headers = decided ?? outgoingHeaders(of: task)
        let coding = ContentCoding(for: task.type, headers: task.headers(in: record))
        for field in range?.fields ?? [] { headers.append(field.name, field.value) }
        if record.configuration.propagatesTraceContext, let trace = task.traceContext,
            headers.first("traceparent") == nil
        {
            // One span an attempt; a client's own field stands.
            var generator = SystemRandomNumberGenerator()
            headers = headers.removing(["tracestate"])
            for field in trace.fields(using: &generator) {
                headers.append(field.name, field.value)
            }
        }
        var attempt = AttemptRequest(
            url: request.url, method: method ?? request.method, headers: headers, body: body,
            decodesContent: coding.decodes, priority: task.options.priority,
            // A reader may stop, and so may a disk, a writer or a limit: such an attempt goes on a
            // connection of its own.
            mayPause: task.options.delivery == .stream || task.type == .download || isLimited
                || request.body?.isStream == true
                || record.decides(.response, about: task.options))
        attempt.connectTimeout =
            request.timeoutInterval ?? record.configuration.timeoutIntervalForRequest
        if task.options.retry?.allowsNonIdempotent == true { attempt.mayRepeat = true }
        attempt.usesFreshConnection = request.body?.isStream == true
        attempt.proxy = record.configuration.connectionProxyDictionary?.proxy(for: request.url)
        present(task.dialogue.authentication, with: &attempt)
        return attempt
    }

    /// Adds what proves who sends a request.
    private func present(
        _ authentication: TaskAuthentication, with attempt: inout AttemptRequest
    ) {
        let url = attempt.url
        attempt.credential = credential(
            of: authentication.server, for: url.origin, method: attempt.method, uri: url.target)
        if let proxy = attempt.proxy {
            attempt.proxyCredential = credential(
                of: authentication.proxy, for: proxy.origin,
                method: url.isSecure ? "CONNECT" : attempt.method,
                uri: url.isSecure ? url.authority : url.target)
        }
        attempt.trust = TrustPolicy(for: url, in: record)
        attempt.identity = identity(for: url, authentication)
    }

    /// S-63: what was decided for this server, else the question, else what the session remembers.
    private func identity(
        for url: WebURL, _ authentication: TaskAuthentication
    ) -> IdentityPolicy {
        let isDecided = authentication.identityOrigin == url.origin
        switch authentication.identity {
        case .certificate(let identity) where isDecided: return .certificate(identity)
        case .without where isDecided: return .without
        case _ where !url.isSecure: return .without
        case _ where record.delegate?.challengeKind(of: .clientCertificate) != nil: return .ask
        default: return storedIdentity(for: url).map(IdentityPolicy.certificate) ?? .without
        }
    }

    /// A task's current request as the cache looks at it: as it would be sent.
    func cacheRequest(for task: TaskRecord) -> CacheRequest {
        let request = task.currentRequest
        let coding = ContentCoding(for: task.type, headers: task.headers(in: record))
        return CacheRequest(
            method: request.method, url: request.url, headers: outgoingHeaders(of: task),
            policy: request.cachePolicy ?? record.configuration.requestCachePolicy,
            decodes: coding.decodes)
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
        guard self.metrics.redirectCount == 0, self.mirrorCount == 0 else {
            return self.currentRequest.headers
        }
        let additional = session.configuration.httpAdditionalHeaders
        return self.currentRequest.headers.merging(
            additional: self.currentRequest.isForMirror
                ? additional.forAnotherOrigin(sensitive: self.currentRequest.sensitiveHeaders)
                : additional)
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

extension TaskRecord {
    /// The request that leads to the source of what has come, for another task to go on with; nil
    /// where that is no GET of its own, such as the answer to a POST (S-34).
    var requestToResume: RequestRecord? {
        var request = self.firstRequest
        guard request.method == "GET", request.body == nil else { return nil }
        guard self.mirrorCount > 0 else { return request }
        guard self.mirrorCount <= self.options.mirrors.count else { return nil }
        let mirror = self.options.mirrors[self.mirrorCount - 1]
        if mirror.origin != request.url.origin {
            request.headers = request.headers.forAnotherOrigin(
                sensitive: request.sensitiveHeaders)
            request.isForMirror = true
        }
        request.url = mirror
        return request
    }
}

extension OriginAnswer {
    /// The head of an answer, with what its links lead to.
    init(
        _ head: ResponseHead, requestTime: Timestamp, responseTime: Timestamp,
        resolve: (String) -> WebURL?
    ) {
        self.init(
            status: head.status, headers: head.headers, requestTime: requestTime,
            responseTime: responseTime,
            location: head.headers.first("Location").flatMap(resolve),
            contentLocation: head.headers.first("Content-Location").flatMap(resolve))
    }
}
