internal import DequeModule
internal import Diagnostics
internal import Engine
internal import Loop
internal import Semantics
internal import Syntax

/// A request to S3, before it is signed.
struct S3Request: Sendable {
    /// S3's name of it: `PutObject`.
    let operation: String
    let method: String
    /// The object; empty for the bucket.
    var key = ""
    var query: [(name: String, value: String)] = []
    /// Names in small letters.
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// SHA-256 of the body, where it was taken already; else it is taken on the loop.
    var digest: [UInt8]?
    /// How long the answer may be.
    var answerLimit = 16 << 20
    /// Whether S3 moves bytes itself before it answers, and may be silent for that long.
    var isWorkOfS3 = false

    init(_ operation: String, _ method: String, _ key: String = "") {
        self.operation = operation
        self.method = method
        self.key = key
    }
}

/// Sends requests to S3, some at a time, signed, and again where what failed passes.
@LoopActor
final class S3Client {
    /// How often a request is sent, and how long it rests before the second time; the rest doubles
    /// each time.
    struct Patience: Sendable {
        var tries: Int
        var firstRest: Duration
        var longestRest = Duration.seconds(10)
        /// Whether it goes on while S3 waits for an operator.
        var isForOperator = false

        /// For what a reader waits for: 4 s at most.
        static let reader = Patience(tries: 6, firstRest: .milliseconds(100))
        /// For a long upload, of which all would have to be sent again: a minute and a half.
        static let upload = Patience(
            tries: 14, firstRest: .milliseconds(100), isForOperator: true)
    }

    private let location: S3Location
    private let transport: any Transport
    private let digests: any Digests
    private let credentials: S3CredentialSource
    private let clock: any Clock
    private let silence: S3Silence
    private lazy var pool = transport.makePool(
        PoolSettings(tlsMinimum: .tls12, tlsMaximum: .tls13))
    private let gate = S3Gate(room: S3Client.requestLimit)
    private var exchanges: [ObjectIdentifier: S3Exchange] = [:]
    private var rests: [ObjectIdentifier: S3Rest] = [:]
    private(set) var isStopped = false
    /// How the last requests have failed, which was told.
    private var told: Set<S3Failure.Kind> = []
    /// Called when S3 answers again.
    var onReturn: (@LoopActor () -> Void)?
    private let log = Log("contents.s3")
    /// Requests at a time.
    private static let requestLimit = 24

    init(
        _ location: S3Location, transport: any Transport, digests: any Digests,
        credentials: S3CredentialSource, clock: any Clock, silence: S3Silence = S3Silence()
    ) {
        self.location = location
        self.transport = transport
        self.digests = digests
        self.credentials = credentials
        self.clock = clock
        self.silence = silence
    }

    /// What waits ends now, and nothing is sent any more.
    func stop() {
        isStopped = true
        for exchange in exchanges.values { exchange.stop() }
        for rest in rests.values { rest.end() }
    }

    /// Whether nothing waits for answers any more: neither the gateway nor the caller.
    private var isOver: Bool { isStopped || Task.isCancelled }

    /// Sends a request until it is answered, or the caller is cancelled.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - patience: how often.
    /// - Returns: an answer of success, 200…299.
    /// - Throws: `S3Failure`.
    func send(
        _ request: S3Request, _ patience: Patience = .reader
    ) async throws(S3Failure) -> S3Answer {
        var tries = 0
        var hasRenewed = false
        while true {
            tries += 1
            let failure: S3Failure
            do throws(S3Failure) {
                let answer = try await sendOnce(request, renewing: hasRenewed)
                noteReturn()
                return answer
            } catch {
                failure = error
            }
            if failure.isOfCredentials, !hasRenewed {
                hasRenewed = true
                continue
            }
            switch failure.kind {
            case .away:
                if tries > 1 { note(failure) }
            case .unusable:
                note(failure)
                guard patience.isForOperator else { throw failure }
            default:
                // The answer to a HEAD does not tell whether bucket and credentials are right.
                if failure.status > 0, request.method != "HEAD" { noteReturn() }
                throw failure
            }
            guard tries < patience.tries else { throw failure }
            await rest(after: tries, patience)
        }
    }

    /// Rests before the next try; not once the gateway stops, or the caller is cancelled.
    ///
    /// - Parameters:
    ///   - tries: how many there were.
    ///   - patience: how long the rests are.
    func rest(after tries: Int, _ patience: Patience = .reader) async {
        guard !isOver else { return }
        let longest = min(patience.firstRest * (1 << min(tries - 1, 20)), patience.longestRest)
        let rest = S3Rest()
        rests[ObjectIdentifier(rest)] = rest
        // Not all at once: those that were refused together come back one by one.
        await withTaskCancellationHandler {
            await rest.wait(longest * Double.random(in: 0.5...1))
        } onCancel: {
            LoopActor.post { rest.end() }
        }
        rests[ObjectIdentifier(rest)] = nil
    }

    private func sendOnce(
        _ request: S3Request, renewing: Bool
    ) async throws(S3Failure) -> S3Answer {
        await gate.enter()
        defer { gate.leave() }
        guard !isOver else { throw S3Failure(request.operation, .stopped) }
        // Not before: S3 takes a signature for 15 minutes, and the wait may be longer.
        let signed = try await sign(request, renewing: renewing)
        guard !isOver else { throw S3Failure(request.operation, .stopped) }
        let exchange = S3Exchange(
            bodyLimit: request.answerLimit,
            patience: request.isWorkOfS3 ? silence.ofWork : silence.usual)
        exchanges[ObjectIdentifier(exchange)] = exchange
        let outcome = await withTaskCancellationHandler {
            await exchange.run(signed, in: pool)
        } onCancel: {
            LoopActor.post { exchange.stop() }
        }
        exchanges[ObjectIdentifier(exchange)] = nil
        switch outcome {
        case .stopped: throw S3Failure(request.operation, .stopped)
        case .failure(let words): throw S3Failure(request.operation, .away, words)
        case .answer(let answer):
            guard (200...299).contains(answer.status),
                answer.status != 200 || request.method == "GET" || answer.error == nil
            else { throw S3Failure(request.operation, answer, isOfBucket: request.key.isEmpty) }
            return answer
        }
    }

    private func sign(
        _ request: S3Request, renewing: Bool
    ) async throws(S3Failure) -> AttemptRequest {
        let known: S3Credentials
        do {
            known = try await credentials.current(renewing: renewing)
        } catch {
            var failure = S3Failure(request.operation, .denied, error.description)
            failure.code = S3Failure.withoutCredentials
            throw failure
        }
        let path = location.path(of: request.key)
        let digest = Hex.text(of: request.digest ?? digests.hash(request.body, by: .sha256))
        let stamp = SignatureV4.stamp(secondsSince1970: clock.now.milliseconds / 1000)
        var headers = request.headers
        headers.append(("host", location.host))
        headers.append(("x-amz-content-sha256", digest))
        headers.append(("x-amz-date", stamp))
        if let token = known.sessionToken { headers.append(("x-amz-security-token", token)) }
        let signature = SignatureV4(
            credentials: known, region: location.region, digests: digests)
        let authorization = signature.authorization(
            of: SignatureV4.Request(
                method: request.method, path: path, query: request.query, headers: headers,
                digest: digest), at: stamp)
        let query = SignatureV4.query(request.query)
        let text = location.url(path) + (query.isEmpty ? "" : "?\(query)")
        guard let url = try? transport.parse(text), url.string == text else {
            throw S3Failure(request.operation, .refused, "\(text) is no URL.")
        }
        var sent = HeaderList(
            headers.filter { $0.name != "host" }.map { HeaderField($0.name, $0.value) })
        sent.append("Authorization", authorization)
        var attempt = AttemptRequest(
            url: url, method: request.method, headers: sent, body: Self.body(of: request),
            decodesContent: false, priority: 0.5, mayPause: false)
        attempt.connectTimeout = 10
        attempt.mayRepeat = true
        return attempt
    }

    private static func body(of request: S3Request) -> AttemptBody? {
        guard !request.body.isEmpty else { return nil }
        return .source(S3Body(request.body), length: Int64(request.body.count))
    }

    // MARK: What the log tells

    private func note(_ failure: S3Failure) {
        guard told.insert(failure.kind).inserted else { return }
        log.write(
            .warning,
            failure.kind == .away
                ? "the contents on S3 cannot be reached: requests are sent again"
                : "S3 does not take the credentials, the clock or the bucket: transfers wait for that",
            [
                "operation": .name(failure.operation), "status": .number(failure.status),
                "code": .name(failure.code), "place": .name(location.place),
            ])
    }

    private func noteReturn() {
        guard !told.isEmpty else { return }
        told = []
        log.write(.notice, "the contents on S3 are reached again", ["place": .name(location.place)])
        onReturn?()
    }
}

/// Lets so many in at a time, the others in the order of their coming.
@LoopActor
final class S3Gate {
    private var room: Int
    private let all: Int
    private var waiting = Deque<(size: Int, waiter: CheckedContinuation<Void, Never>)>()

    /// - Parameter room: how much there is for all together.
    init(room: Int) {
        self.room = room
        all = room
    }

    /// Returns once there is room; what is greater than all of it gets all of it.
    func enter(_ size: Int = 1) async {
        let size = min(size, all)
        if waiting.isEmpty, room >= size {
            room -= size
            return
        }
        await withCheckedContinuation { waiting.append((size, $0)) }
    }

    /// Gives back what was taken.
    func leave(_ size: Int = 1) {
        room += min(size, all)
        while let next = waiting.first, room >= next.size {
            waiting.removeFirst()
            room -= next.size
            next.waiter.resume()
        }
    }
}

/// A rest between two tries, which may be cut short.
@LoopActor
private final class S3Rest {
    private var waiter: CheckedContinuation<Void, Never>?
    private lazy var timer = LoopTimer { [weak self] in self?.end() }

    func wait(_ duration: Duration) async {
        await withCheckedContinuation {
            waiter = $0
            timer.arm(after: duration)
        }
    }

    func end() {
        timer.cancel()
        waiter.take()?.resume()
    }
}
