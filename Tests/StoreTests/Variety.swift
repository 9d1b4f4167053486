import Engine
import Semantics

extension World {
    /// Tasks that together use every member, each as it was created and as it became.
    mutating func variety(
        in session: SessionID
    ) throws -> [(created: TaskRecord, changed: TaskRecord)] {
        let plain = makeTask(in: session)
        var failed = makeTask(in: session)
        failed.requestID = "client's-own/id"
        failed.traceContext = TraceContext(
            parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", states: ["a=1,b=2"])
        var failure = TransferError(
            .url(.cannotFindHost), at: "https://example.com/a", message: "no such host",
            underlying: .init(layer: .curl, code: 6, message: "Could not resolve host"),
            userInfo: ["a": .string("b"), "c": .integer(-4)])
        failure = failure.adding(.integer(.max), for: "d")
        var request = RequestRecord(
            url: .odd,
            method: "POST",
            headers: ["Authorization": "Bearer x", "X-Api-Key": "k", "A": "", "a": "2"],
            sensitiveHeaders: ["x-api-key"], cachePolicy: .reloadIgnoringLocalCacheData,
            timeoutInterval: 0.125, body: .bytes(Array(0...255)))
        var options = TaskOptions()
        options.description = "ümläut 🚢"
        options.priority = 0.875
        options.delivery = .stream
        options.fileName = "n.bin"
        options.expectedDigest = ContentDigest(
            algorithm: .sha256, bytes: Array(repeating: 9, count: 32))
        options.computeDigest = true
        options.metadata = ["job": "nightly", "Ä": "ü\u{0}"]
        options.earliestBeginDate = Timestamp(milliseconds: World.start + 99)
        options.countOfBytesClientExpectsToSend = 5
        options.countOfBytesClientExpectsToReceive = 0
        options.destination = SaveDestination(
            folder: "music", path: "a/ü.flac", ifExists: .rename)
        var rich = makeTask(in: session, request: request, options: options, type: .download)
        rich.traceContext = TraceContext(
            parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
        var redirected = rich.completed(at: instant, error: failure)
        request.method = "GET"
        request.headers = ["Cookie": "a=b"]
        request.url = WebURL(
            string: "http://odd.example", scheme: "http", host: "odd.example", port: 80, path: "/x",
            query: "")
        redirected.currentRequest = request
        redirected.response?.url = "http://odd.example/x?"
        redirected.response?.headers = ["Set-Cookie": "s=1", "X": "y"]
        redirected.response?.httpVersion = "2"
        redirected.response?.mimeType = nil
        redirected.response?.expectedContentLength = unknownSize
        redirected.metrics.redirectCount = 1
        redirected.metrics.transactions.append(TransactionMetrics())
        redirected.metrics.transactions[1].localPort = 1
        redirected.content = ContentRecord(
            length: 1 << 40, place: .file, digest: "sha-256=:AA==:", lengthVerified: false,
            series: .max)
        redirected.saved = SavedFile(
            path: "a/ü (1).flac", device: .max, inode: 1 << 63, modified: -1)
        redirected.countOfBytesSent = 256
        redirected.countOfBytesExpectedToSend = unknownSize
        redirected.options.description = nil
        redirected.options.metadata = ["job": "", "other": "x"]
        redirected.retryOf = failed.id
        let other = makeTask(in: session)
        return try [
            (plain, plain.running(at: instant, isLive: true)),
            (other.running(at: instant, isLive: false), other),
            (failed, failed.completed(at: instant, error: failure)), (rich, redirected),
        ] + transfers(in: session) + dialogues(in: session)
    }

    /// Uploads with each kind of body, and downloads that go on.
    private mutating func transfers(
        in session: SessionID
    ) throws -> [(created: TaskRecord, changed: TaskRecord)] {
        let bodies: [BodyRecord] = [
            .file(FileID(rawValue: .max), length: 1 << 40), .file(FileID(rawValue: 7), length: 0),
            .task(TaskID(rawValue: nextIdentifier()), length: 12), .stream(length: unknownSize),
            .stream(length: 0), .stream(length: .max), .bytes([]),
        ]
        var uploads: [(created: TaskRecord, changed: TaskRecord)] = []
        for (index, body) in bodies.enumerated() {
            let created = makeTask(
                in: session, request: RequestRecord(url: .plain, method: "PUT", body: body),
                type: .upload)
            var changed = created.running(at: instant, isLive: true)
            changed.bodyGeneration = index
            // A redirect that keeps the body, that drops it, and a record with another one.
            changed.currentRequest.url = .odd
            if index == 1 { changed.currentRequest.body = nil }
            if index == 2 { changed.currentRequest.body = bodies[0] }
            changed.suspendCount = index % 2
            uploads.append((created, changed))
        }
        var options = TaskOptions()
        options.maximumBytesPerSecond = 1 << 20
        options.connections = 16
        options.mirrors = [.odd, .plain]
        options.retry = try RetryPolicy(
            attempts: 100, statuses: [503, 429, 400], initial: 0.5, maximum: 90, multiplier: 1.5,
            respectsRetryAfter: false, allowsNonIdempotent: true)
        let segmented = makeTask(in: session, options: options, type: .download)
        var retried = segmented.running(at: instant, isLive: true)
        retried.retryCount = 2
        retried.mirrorCount = 1
        retried.redirectsBefore = 3
        retried.policyRetryCount = 2
        retried.isOnePart = true
        retried.resourceTime = .until(KeptTime(milliseconds: 1_700_000_000_123))
        retried.checkpoint = .plain(part: segmented.id)
        options = TaskOptions()
        options.retry = try RetryPolicy(attempts: 1, statuses: [])
        let whole = makeTask(in: session, options: options, type: .download)
        var resumed = whole
        resumed.suspendCount = 3
        resumed.resourceTime = .left(.milliseconds(604_799_999))
        resumed.checkpoint = .checkpoint(
            tag: nil, date: "Sun, 06 Nov 1994 08:49:37 GMT", total: nil, received: [0..<Int64.max],
            part: segmented.id, series: .max)
        return uploads + [(segmented, retried), (whole, resumed)]
    }
}

extension WebURL {
    /// A URL with a zone, and with a path of which the text is the end.
    static let odd = WebURL(
        string: "http://[fe80::1%25eth0]:8080/", scheme: "http", host: "fe80::1", zone: "eth0",
        port: 8080, path: "/")
}
