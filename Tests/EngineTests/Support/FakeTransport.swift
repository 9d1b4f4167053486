import Engine
import Foundation
import Loop
import Semantics
import Testing
import TestSupport

/// A network that does what its test says: it keeps every request and answers nothing by itself.
@LoopActor
final class FakeTransport: Transport {
    /// Every attempt that was started, in order, of all pools.
    private(set) var attempts: [FakeAttempt] = []
    private(set) var pools: [FakePool] = []
    /// Answers attempts, each on the turn of the loop after its start.
    var onStart: (@LoopActor (FakeAttempt) -> Void)?
    /// Whether an observer is being called: nothing may be asked of the transport from there.
    fileprivate var isActing = false

    nonisolated init() {}

    nonisolated func parse(_ url: String) throws(URLRejection) -> WebURL {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme else {
            throw .malformed(url)
        }
        guard scheme == "http" || scheme == "https" else { throw .unsupportedScheme(scheme) }
        guard let host = parts.host, !host.isEmpty else { throw .malformed(url) }
        return WebURL(
            string: url, scheme: scheme, host: host,
            port: parts.port ?? (scheme == "https" ? 443 : 80),
            path: parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath,
            query: parts.percentEncodedQuery)
    }

    nonisolated func resolve(
        _ reference: String, against base: WebURL
    ) throws(URLRejection) -> WebURL {
        guard let url = URL(string: reference, relativeTo: URL(string: base.string)) else {
            throw .malformed(reference)
        }
        return try parse(url.absoluteString)
    }

    func prepare(_ identity: ClientIdentity) async throws(IdentityRejection) -> ClientIdentity {
        switch identity {
        case .pem(_, "wrong"):
            throw IdentityRejection("The private key does not belong to the certificate.")
        case .pem: return identity
        case .pkcs12(let bytes, let passphrase):
            return .pem(certificate: String(decoding: bytes, as: UTF8.self), key: passphrase)
        }
    }

    func makePool(_ settings: PoolSettings) -> any ConnectionPool {
        let pool = FakePool(settings, self)
        pools.append(pool)
        return pool
    }

    /// The attempt of that number, counted from 0, once it has been started.
    func attempt(_ number: Int) async throws -> FakeAttempt {
        try await eventually("attempt \(number)") { attempts.count > number }
        return attempts[number]
    }

    /// Attempts that have been started and are not over.
    var running: [FakeAttempt] { attempts.filter { !$0.isOver } }

    fileprivate func add(_ attempt: FakeAttempt) {
        attempts.append(attempt)
        guard onStart != nil else { return }
        LoopActor.later { [self] in onStart?(attempt) }
    }

    /// Calls an observer as libcurl would: with itself on the stack.
    fileprivate func acting<Result>(_ call: () -> Result) -> Result {
        let wasActing = isActing
        isActing = true
        defer { isActing = wasActing }
        return call()
    }

    fileprivate func expectNotActing(_ what: String) {
        if isActing { Issue.record("\(what) from inside a callback of the transport") }
    }
}

@LoopActor
final class FakePool: ConnectionPool {
    let settings: PoolSettings
    private(set) var isClosed = false
    private unowned let transport: FakeTransport

    init(_ settings: PoolSettings, _ transport: FakeTransport) {
        self.settings = settings
        self.transport = transport
    }

    func start(_ request: AttemptRequest, observer: any AttemptObserver) -> any Attempt {
        transport.expectNotActing("start")
        if isClosed { Issue.record("an attempt is started in a closed pool") }
        let attempt = FakeAttempt(request, observer, transport)
        transport.add(attempt)
        return attempt
    }

    func close() { isClosed = true }
}

/// An exchange that its test plays: what is told is delivered in order, and waits while it is
/// paused.
@LoopActor
final class FakeAttempt: Attempt {
    private enum Step {
        case head(Engine.ResponseHead)
        case bytes([UInt8])
        case end(AttemptEnd)
    }

    let request: AttemptRequest
    /// The request's body, where it is not pulled.
    var sentBytes: [UInt8]? {
        if case .bytes(let bytes)? = request.body { bytes } else { nil }
    }
    /// What is announced of a body that is pulled.
    var bodyLength: Int64? {
        if case .source(_, let length)? = request.body { length } else { nil }
    }
    private(set) var isPaused = false
    private(set) var isCancelled = false
    private(set) var isOver = false
    /// How often the engine, not a verdict, has paused it.
    private(set) var pauseCount = 0
    private(set) var resumeCount = 0
    /// Bytes that were taken.
    private(set) var deliveredCount = 0
    private var steps: [Step] = []
    private var isDelivering = false
    private var observer: (any AttemptObserver)?
    private unowned let transport: FakeTransport

    init(
        _ request: AttemptRequest, _ observer: any AttemptObserver, _ transport: FakeTransport
    ) {
        self.request = request
        self.observer = observer
        self.transport = transport
    }

    // MARK: What the test plays

    func head(_ status: Int, _ headers: HeaderList = [:]) {
        play(.head(Engine.ResponseHead(status: status, httpVersion: "1.1", headers: headers)))
    }

    /// A head that was on its way when the attempt was paused.
    func lateHead(_ status: Int, _ headers: HeaderList = [:]) {
        let head = Engine.ResponseHead(status: status, httpVersion: "1.1", headers: headers)
        _ = transport.acting { observer?.attemptDidReceive(head) }
    }

    func body(_ bytes: [UInt8], pieces: Int = 16 << 10) {
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            play(.bytes(Array(bytes[start..<min(bytes.count, start + pieces)])))
        }
    }

    func end(_ error: TransferError? = nil, lengthVerified: Bool = true) {
        play(.end(AttemptEnd(error: error, metrics: metrics, lengthVerified: lengthVerified)))
    }

    /// The connection is lost, also while the attempt is paused.
    func breakOff() {
        steps = []
        tellEnd(
            AttemptEnd(
                error: .url(.networkConnectionLost), metrics: metrics, lengthVerified: false))
    }

    /// The TLS handshake brings up a question.
    func ask(_ question: HandshakeQuestion) {
        var end = AttemptEnd(
            error: .url(.secureConnectionFailed), metrics: metrics, lengthVerified: false)
        end.question = question
        play(.end(end))
    }

    /// The proxy answers in place of making a tunnel.
    func refuseTunnel(_ status: Int, _ headers: HeaderList = [:]) {
        var end = AttemptEnd(
            error: .url(.userAuthenticationRequired), metrics: metrics, lengthVerified: false)
        end.tunnelResponse = Engine.ResponseHead(
            status: status, httpVersion: "1.1", headers: headers)
        play(.end(end))
    }

    /// A whole answer with its length.
    func answer(_ status: Int = 200, _ headers: HeaderList = [:], _ bytes: [UInt8] = []) {
        var headers = headers
        headers.append("Content-Length", String(bytes.count))
        head(status, headers)
        body(bytes)
        end()
    }

    func informational(_ status: Int, _ headers: HeaderList = [:]) {
        transport.acting {
            observer?.attemptDidReceiveInformational(
                Engine.ResponseHead(status: status, httpVersion: "1.1", headers: headers))
        }
    }

    func sent(_ total: Int64) {
        transport.acting {
            observer?.attemptDidMove()
            observer?.attemptDidSend(total: total)
        }
    }

    /// A sign of life.
    func move() { transport.acting { observer?.attemptDidMove() } }

    // MARK: Attempt

    func pause() {
        transport.expectNotActing("pause")
        pauseCount += 1
        isPaused = true
    }

    func resume() {
        transport.expectNotActing("resume")
        resumeCount += 1
        isPaused = false
        deliver()
    }

    func handOver(to observer: any AttemptObserver) {
        transport.expectNotActing("handOver")
        self.observer = observer
    }

    func cancel() -> TransactionMetrics {
        transport.expectNotActing("cancel")
        isCancelled = true
        finish()
        return metrics
    }

    // MARK: Delivery

    private func play(_ step: Step) {
        guard !isOver else { return }
        steps.append(step)
        deliver()
    }

    private func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !isPaused, !isOver, let step = steps.first {
            switch step {
            case .head(let head): obey(transport.acting { observer?.attemptDidReceive(head) })
            case .bytes(let bytes):
                let verdict = transport.acting {
                    bytes.withUnsafeBytes { observer?.attemptDidReceive($0) }
                }
                switch verdict {
                case .proceed, .stop: deliveredCount += bytes.count
                case .take(let count):
                    deliveredCount += count
                    let rest = Array(bytes[count...])
                    if rest.isEmpty { steps.removeFirst() } else { steps[0] = .bytes(rest) }
                case .pause, nil: break
                }
                obey(verdict)
            case .end(let end):
                steps.removeFirst()
                tellEnd(end)
            }
        }
    }

    private func obey(_ verdict: FlowVerdict?) {
        switch verdict {
        case .pause, .take: isPaused = true
        case .stop:
            tellEnd(AttemptEnd(error: nil, metrics: metrics, lengthVerified: false))
        case .proceed, nil: steps.removeFirst()
        }
    }

    /// The end never comes from inside a call of the engine.
    private func tellEnd(_ end: AttemptEnd) {
        let observer = observer
        isOver = true
        LoopActor.later { [self] in
            guard !isCancelled else { return }
            finish()
            observer?.attemptDidEnd(end)
        }
    }

    private func finish() {
        isOver = true
        observer = nil
        steps = []
    }

    private var metrics: TransactionMetrics {
        var metrics = TransactionMetrics()
        metrics.url = request.url.string
        metrics.method = request.method
        return metrics
    }
}
