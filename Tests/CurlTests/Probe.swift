@testable import Curl
import Engine
import Files
import Loop
import Semantics
import TestSupport

/// An observer that keeps all that it hears, and answers as its test says.
@LoopActor
final class Probe: AttemptObserver {
    private(set) var moves = 0
    private(set) var informationals: [Engine.ResponseHead] = []
    /// Every head that was offered, also those that were not taken.
    private(set) var offeredHeads: [Engine.ResponseHead] = []
    private(set) var body: [UInt8] = []
    private(set) var bodyByteCount = 0
    private(set) var sent: [Int64] = []
    /// Of the requests before the last one.
    private(set) var earlier: [TransactionMetrics] = []
    private(set) var ends: [AttemptEnd] = []
    /// Set by the network; for tests that pause, resume and cancel.
    var attempt: (any Attempt)?

    var onHead: (Engine.ResponseHead) -> FlowVerdict = { _ in .proceed }
    var onBody: (UnsafeRawBufferPointer) -> FlowVerdict = { _ in .proceed }
    /// Off for bodies that are too long to keep.
    var keepsBody = true

    var head: Engine.ResponseHead? { offeredHeads.last }
    var error: TransferError? { ends.first?.error }
    var text: String { String(decoding: body, as: UTF8.self) }

    func attemptDidMove() { moves += 1 }

    func attemptDidReceiveInformational(_ head: Engine.ResponseHead) { informationals.append(head) }

    func attemptDidReceive(_ head: Engine.ResponseHead) -> FlowVerdict {
        offeredHeads.append(head)
        return onHead(head)
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        let verdict = onBody(bytes)
        let count =
            switch verdict {
            case .proceed, .stop: bytes.count
            case .take(let count): count
            case .pause: 0
            }
        bodyByteCount += count
        if keepsBody { body += bytes[..<count] }
        return verdict
    }

    func attemptGoesOn(after request: TransactionMetrics) { earlier.append(request) }

    func attemptDidSend(total: Int64) { sent.append(total) }

    func attemptDidEnd(_ end: AttemptEnd) {
        ends.append(end)
        // They hold the probe, as a rule.
        onHead = { _ in .proceed }
        onBody = { _ in .proceed }
    }

    /// Waits for the attempt's end, which is the only one.
    @discardableResult
    func end() async throws -> AttemptEnd {
        // All tests of the process are on one loop, and machines may be busy.
        try await eventually(within: .seconds(60), "an attempt to end") { !ends.isEmpty }
        guard ends.count == 1, let end = ends.first else { throw TwoEnds() }
        return end
    }

    struct TwoEnds: Error {}
}

/// A transport and one pool of it.
@LoopActor
final class Network {
    let transport: CurlTransport
    let pool: any ConnectionPool

    /// A network that may reach loopback, unless `egress` says otherwise.
    init(
        egress: EgressPolicy = .loopback, tls: ClosedRange<TLSVersion> = .tls12 ... .tls13,
        trustedCertificates: String? = nil, idleLifetime: Duration = .seconds(60),
        descriptors: Int = .max, asking: @escaping AddressBook.Resolver = AddressBook.askSystem,
        opener: @escaping OpenDescriptors.Opener = { wanted throws(FileError) in
            try wanted.make()
        }
    ) {
        var settings = CurlSettings(
            egress: egress, userAgent: "ferry/test", trustedCertificates: trustedCertificates)
        settings.idleLifetime = idleLifetime
        settings.descriptors = descriptors
        transport = CurlTransport(settings, asking: asking, opener: opener)
        pool = transport.makePool(
            PoolSettings(tlsMinimum: tls.lowerBound, tlsMaximum: tls.upperBound))
    }

    /// Starts an attempt; `prepare` sets up its probe before anything can happen.
    func start(
        _ url: String, method: String = "GET", headers: HeaderList = [:], body: [UInt8]? = nil,
        decodes: Bool = false, mayPause: Bool = true, connectTimeout: Double? = nil,
        prepare: (Probe) -> Void = { _ in }
    ) throws -> Probe {
        let probe = Probe()
        prepare(probe)
        var request = AttemptRequest(
            url: try transport.parse(url), method: method, headers: headers,
            body: body.map(AttemptBody.bytes), decodesContent: decodes, priority: 0.5,
            mayPause: mayPause)
        request.connectTimeout = connectTimeout
        probe.attempt = pool.start(request, observer: probe)
        return probe
    }

    /// Runs an attempt to its end.
    @discardableResult
    func fetch(
        _ url: String, method: String = "GET", headers: HeaderList = [:], body: [UInt8]? = nil,
        decodes: Bool = false, mayPause: Bool = true, prepare: (Probe) -> Void = { _ in }
    ) async throws -> Probe {
        let probe = try start(
            url, method: method, headers: headers, body: body, decodes: decodes,
            mayPause: mayPause, prepare: prepare)
        try await probe.end()
        return probe
    }
}

extension Network {
    /// Starts an attempt whose request is adjusted first.
    func begin(
        _ url: String, method: String = "GET", headers: HeaderList = [:],
        body: AttemptBody? = nil, mayPause: Bool = true,
        adjust: (inout AttemptRequest) -> Void, prepare: (Probe) -> Void = { _ in }
    ) throws -> Probe {
        let probe = Probe()
        prepare(probe)
        var request = AttemptRequest(
            url: try transport.parse(url), method: method, headers: headers, body: body,
            decodesContent: false, priority: 0.5, mayPause: mayPause)
        adjust(&request)
        probe.attempt = pool.start(request, observer: probe)
        return probe
    }

    /// Runs an attempt whose request is adjusted first to its end.
    @discardableResult
    func run(
        _ url: String, method: String = "GET", headers: HeaderList = [:],
        body: AttemptBody? = nil, mayPause: Bool = true,
        adjust: (inout AttemptRequest) -> Void, prepare: (Probe) -> Void = { _ in }
    ) async throws -> Probe {
        let probe = try begin(
            url, method: method, headers: headers, body: body, mayPause: mayPause, adjust: adjust,
            prepare: prepare)
        try await probe.end()
        return probe
    }
}

extension Network {
    /// A network that trusts `SharedForge.servers`.
    static var trusting: Network {
        get async throws {
            Network(trustedCertificates: try await SharedForge.servers.authorityPath)
        }
    }
}

extension EgressPolicy {
    /// Everything of 127.0.0.0/8 and ::1 on every port, and the public internet.
    static var loopback: EgressPolicy {
        EgressPolicy(
            allowed: ["127.0.0.0/8", "::1"].compactMap { try? AllowedDestination(parsing: $0) })
    }
}

/// The loop of the test process, running.
enum TestLoop {
    static func start() { LoopActor.loop.start() }
}
