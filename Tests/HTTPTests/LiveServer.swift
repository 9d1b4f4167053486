@testable import HTTP
import Loop
import Synchronization
import TLS
import TestSupport

/// A server on a loopback port, for one test.
struct LiveServer: Sendable {
    let server: Server
    let endpoint: Endpoint
    let calls: Calls

    /// A client of its own for whoever asks.
    var client: TestClient { TestClient(endpoint) }

    /// The port of 127.0.0.1; 0 for a unix socket.
    var port: UInt16 {
        if case .tcp(_, let port) = endpoint { port } else { 0 }
    }

    /// Runs `body` with a server that serves `routes`, and stops it afterwards.
    ///
    /// `checks` and the rendering of failures are the plainest possible: the code as text.
    static func run<Result: Sendable>(
        _ routes: [Route], limits: ServerLimits = ServerLimits(), on address: ListenAddress? = nil,
        checks: @escaping @LoopActor (Request) -> Problem? = { _ in nil }, calls: Calls = Calls(),
        tls: ServerTLS? = nil, _ body: (LiveServer) async throws -> Result
    ) async throws -> Result {
        LoopActor.loop.start()
        let live = try await start(routes, limits, address, checks, calls, tls)
        do {
            let result = try await body(live)
            await live.server.drain(within: .zero)
            return result
        } catch {
            await live.server.drain(within: .zero)
            throw error
        }
    }

    @LoopActor
    private static func start(
        _ routes: [Route], _ limits: ServerLimits, _ address: ListenAddress?,
        _ checks: @escaping @LoopActor (Request) -> Problem?, _ calls: Calls, _ tls: ServerTLS?
    ) throws -> LiveServer {
        let server = Server(router: try Router(routes), limits: limits, checks: checks) {
            error, _ in
            let problem =
                error as? Problem
                ?? Problem(status: 500, code: "internal", title: String(describing: error))
            return Response(
                status: problem.status, headers: problem.headers,
                body: .bytes(Array(problem.code.utf8)))
        }
        let bound = try server.listen(on: address ?? .tcp(host: "127.0.0.1", port: 0), tls: tls)
        return LiveServer(server: server, endpoint: Endpoint(bound), calls: calls)
    }
}

extension Endpoint {
    init(_ address: ListenAddress) {
        switch address {
        case .tcp(let host, let port): self = .tcp(host: host, port: port)
        case .unix(let path): self = .unix(path: path)
        }
    }
}

/// What handlers have done, counted by name.
final class Calls: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    func count(_ name: String, by number: Int = 1) {
        counts.withLock { $0[name, default: 0] += number }
    }

    subscript(name: String) -> Int { counts.withLock { $0[name] ?? 0 } }
}

/// Pieces of one size, a given number of times or without end; tells what happens to it.
@LoopActor
final class PatternSource: ByteSource {
    private let pieceSize: Int
    private let failsAfter: Int?
    private let calls: Calls
    private var left: Int

    init(pieces: Int, of pieceSize: Int, failsAfter: Int? = nil, calls: Calls) {
        left = pieces
        self.pieceSize = pieceSize
        self.failsAfter = failsAfter
        self.calls = calls
    }

    /// An answer of as many pieces as its path says, of unknown length.
    nonisolated static func route(_ calls: Calls) -> Route {
        Route("GET", "/stream/{pieces}/{size}") { request in
            let source = PatternSource(
                pieces: request.number("pieces"), of: request.number("size"), calls: calls)
            return Response(status: 200, body: .source(source, length: nil))
        }
    }

    func next() async throws -> [UInt8]? {
        calls.count("pulled")
        if let failsAfter, calls["pulled"] > failsAfter { throw Broken() }
        guard left > 0 else { return nil }
        left -= 1
        return [UInt8](repeating: UInt8(ascii: "a"), count: pieceSize)
    }

    func cancel() { calls.count("cancelled") }

    struct Broken: Error {}
}

extension Request {
    /// A number in the path.
    func number(_ name: String) -> Int { parameters[name].flatMap { Int($0) } ?? 0 }
}

extension Response {
    static func text(_ text: String, status: Int = 200) -> Response {
        Response(status: status, body: .bytes(Array(text.utf8)))
    }
}

extension Server {
    /// The most bytes that wait in memory for one client.
    var largestQueue: Int {
        connections.values.map(\.queued).max() ?? 0
    }

    /// The connections that wait for nothing.
    var restingCount: Int { connections.values.count { $0.isResting } }
}
