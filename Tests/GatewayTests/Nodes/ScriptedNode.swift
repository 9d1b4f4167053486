@testable import HTTP
import Loop
import TestSupport

/// A server in the second node's place, which answers over HTTP/2 as its test says.
@LoopActor
final class ScriptedNode {
    /// What it was asked.
    struct Asked: Sendable {
        let method: String
        let target: String
        let headers: HeaderLines
        /// As much of it as its answer has read.
        fileprivate(set) var body: [UInt8] = []
    }

    /// How it answers.
    enum Answer: Sendable {
        /// At once.
        case fixed(Int, HeaderLines = [:], String = "")
        /// Once the gate is open: never without one.
        case late(Gate?, String = "")
        /// The number of bytes of the body, which is read once the gate is open.
        case count(Gate)
        /// So many bytes of so many, and then nothing more.
        case stall(after: Int, of: Int)
        /// Without an answer the connection is gone.
        case reset
    }

    nonisolated let address: String
    private(set) var requests: [Asked] = []
    /// Bytes of answers that were pulled out of it.
    fileprivate(set) var bytesSent: UInt64 = 0
    private var answer = Answer.reset
    private let proves: Bool
    private let server: Server

    /// Listens; with `proves` it has the nodes' key, so that its answers are the second node's.
    init(_ answer: Answer, proves: Bool = true) throws {
        self.answer = answer
        self.proves = proves
        let own = Own()
        let routes = ["/v1/tasks", "/v1/sessions", "/v1/files", "/v1/tasks/{task}"]
        let router = try Router(
            ["GET", "POST", "DELETE"].flatMap { method in
                routes.map { path in
                    Route(method, path) { request in
                        try await own.node?.handle(request) ?? Response(status: 500)
                    }
                }
            })
        server = Server(router: router) { _, _ in Response(status: 500) }
        address = "http://\(try server.listen(on: .tcp(host: "127.0.0.1", port: 0)))"
        own.node = self
    }

    private final class Own: @unchecked Sendable {
        // Used on the loop only.
        weak var node: ScriptedNode?
    }

    func otherwise(_ answer: Answer) { self.answer = answer }

    func dropConnections() { for connection in server.connections.values { connection.close() } }

    func waitForRequests(_ count: Int) async throws {
        try await eventually("\(count) requests") { requests.count >= count }
    }

    /// Waits until it answers nobody.
    func waitUntilIdle() async throws {
        try await eventually("the node to be idle") {
            server.connections.values.allSatisfy(\.runners.isEmpty)
        }
    }

    private func handle(_ request: Request) async throws -> Response {
        var headers = HeaderLines()
        for (name, value) in request.headers { headers.append(name, value) }
        let index = requests.count
        requests.append(
            Asked(
                method: request.method,
                target: request.path + (request.rawQuery.map { "?" + $0 } ?? ""),
                headers: headers))
        var response = try await response(to: request, index)
        if proves {
            let nonce = (headers["Authorization"] ?? "").dropFirst("Ferry-Node ".count)
                .prefix { $0 != "." }
            response.headers.add("Ferry-Proof", TwoNodes.proof(nonce))
        }
        return response
    }

    private func response(to request: Request, _ index: Int) async throws -> Response {
        switch answer {
        case .fixed(let status, let fields, let text):
            let headers = HeaderFields(fields.lines.map { (name: $0.name, value: $0.value) })
            return Response(status: status, headers: headers, body: .bytes(Array(text.utf8)))
        case .late(let gate, let text):
            try await wait(for: gate)
            return Response(status: 200, body: .bytes(Array(text.utf8)))
        case .count(let gate):
            try await wait(for: gate)
            requests[index].body = try await request.body.collect(limit: .max)
            return Response(
                status: 201, body: .bytes(Array("\(requests[index].body.count)".utf8)))
        case .stall(let count, let length):
            let source = StallingSource(count, of: self)
            return Response(status: 200, body: .source(source, length: Int64(length)))
        case .reset:
            dropConnections()
            throw CancellationError()
        }
    }

    private func wait(for gate: Gate?) async throws {
        while gate?.isOpen != true { try await Task.sleep(for: .milliseconds(5)) }
    }
}

/// Some bytes of the pattern, and then nothing, until nobody waits any more.
@LoopActor
private final class StallingSource: ByteSource {
    private var left: Int
    private weak var node: ScriptedNode?
    private var waiter: CheckedContinuation<Void, Never>?

    init(_ count: Int, of node: ScriptedNode) {
        left = count
        self.node = node
    }

    func next() async throws -> [UInt8]? {
        let count = min(left, 64 << 10)
        left -= count
        node?.bytesSent += UInt64(count)
        if count == 0 { await withCheckedContinuation { waiter = $0 } }
        return Pattern.bytes(count: count)
    }

    func cancel() { waiter.take()?.resume() }
}
