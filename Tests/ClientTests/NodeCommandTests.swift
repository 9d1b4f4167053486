import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

@testable import Client

/// What `ferry nodes` and `ferry drain` ask the gateway, and what they show of the answers.
struct NodeCommandTests {
    private let gateway: FakeGateway
    private static let path = "/v1/nodes"

    init() throws { gateway = try FakeGateway() }

    private static func node(
        _ number: Int, tenants: Int = 0, state: String = "serving", isThis: Bool = false
    ) -> String {
        """
        {"node":\(number),"address":"https://10.0.0.\(number):8080","state":"\(state)",\
        "tenants":\(tenants),"isThis":\(isThis),"joinedAt":"2026-11-21T07:00:01.250Z"}
        """
    }

    private static func list(_ nodes: String...) -> String {
        "{\"nodes\":[\(nodes.joined(separator: ","))]}"
    }

    /// Answers lists one after the other, the last one for ever, and any change.
    private func serve(_ lists: String...) {
        gateway.origin.on(Self.path) { exchange in
            let turn = min(exchange.request.attempt, lists.count) - 1
            try exchange.answer(200, [:], lists[turn])
        }
        for number in 1...2 {
            gateway.origin.on(Self.path + "/\(number)") { exchange in
                let body = String(decoding: try exchange.readWholeBody(), as: UTF8.self)
                let isDraining = body == #"{"state":"draining"}"#
                try exchange.answer(
                    200, [:], Self.node(number, state: isDraining ? "draining" : "serving"))
            }
        }
    }

    /// Runs a draining, and gives its end with what it has said.
    private func drain(_ number: Int64? = nil) async throws -> (node: RemoteNode, said: [String]) {
        let said = Lines()
        let node = try await onThread { [gateway] () throws(ClientError) in
            let draining = Draining(try gateway.client()) { said.add($0) }
            return try RemoteNode(try draining.run(number))
        }
        return (node, said.all)
    }

    private func failure(
        _ work: @escaping @Sendable (GatewayClient) throws(ClientError) -> Void
    ) async throws -> ClientError {
        let thrown = await #expect(throws: ClientError.self) {
            try await onThread { [gateway] () throws(ClientError) in
                try work(try gateway.client())
            }
        }
        return try #require(thrown)
    }

    // MARK: nodes

    @Test func `the table marks the node that has answered`() throws {
        let nodes = try [Self.node(1, tenants: 12), Self.node(2, state: "draining", isThis: true)]
            .map { try RemoteNode(JSONValue(parsing: Array($0.utf8))) }
        #expect(
            NodeTable.lines(nodes) == [
                "NODE  ADDRESS                STATE     TENANTS  JOINED",
                "1     https://10.0.0.1:8080  serving        12  2026-11-21 07:00:01Z",
                "2*    https://10.0.0.2:8080  draining        0  2026-11-21 07:00:01Z",
            ])
    }

    @Test(arguments: [404, 200])
    func `a gateway that has its database for itself says so`(status: Int) async throws {
        gateway.origin.on(Self.path, .fixed(status, [:], status == 200 ? Self.list() : "{}"))
        let error = try await failure { client throws(ClientError) in
            _ = try RemoteNodes(client).list()
        }
        #expect(error.exitStatus == .failure)
        #expect("\(error)".contains("is no node"))
        #expect(error.remedy()?.contains("--node-address") == true)
    }

    // MARK: drain

    @Test func `it asks the node that answers, and waits until nothing is left`() async throws {
        let other = Self.node(2, tenants: 1)
        serve(
            Self.list(Self.node(1, tenants: 3, isThis: true), other),
            Self.list(Self.node(1, tenants: 3, state: "draining", isThis: true), other),
            Self.list(Self.node(1, tenants: 1, state: "draining", isThis: true), other),
            Self.list(Self.node(1, tenants: 0, state: "draining", isThis: true), other))
        let (node, said) = try await drain()
        #expect(node.number == 1 && node.tenants == 0 && node.state == "draining")
        #expect(said == ["node 1: 3 tenants left", "node 1: 1 tenant left"])
        #expect(gateway.requests("PATCH", Self.path + "/1").count == 1)
    }

    @Test func `another node is drained by its number`() async throws {
        serve(Self.list(Self.node(1, isThis: true), Self.node(2, state: "draining")))
        #expect(try await drain(2).node.number == 2)
        #expect(gateway.requests("PATCH", Self.path + "/2").count == 1)
    }

    @Test func `a change that meets a tenant on its way is asked for again`() async throws {
        let other = Self.node(2)
        serve(
            Self.list(Self.node(1, isThis: true), other),
            Self.list(Self.node(1, state: "draining", isThis: true), other))
        gateway.origin.on(Self.path + "/1") { exchange in
            try exchange.readWholeBody()
            let isEarly = exchange.request.attempt == 1
            try exchange.answer(
                isEarly ? 503 : 200, [:], Self.node(1, state: "draining", isThis: true))
        }
        #expect(try await drain().node.number == 1)
        #expect(gateway.requests("PATCH", Self.path + "/1").count == 2)
    }

    @Test func `a node that has ended is told, and is an error where it had tenants`()
        async throws
    {
        let other = Self.node(2)
        let serving = Self.node(1, isThis: true)
        serve(Self.list(serving, other), Self.list(other))
        let (node, said) = try await drain(1)
        #expect(node.number == 1 && said == ["node 1 has ended"])
        let draining = Self.node(1, tenants: 2, state: "draining")
        serve(Self.list(draining, other), Self.list(draining, other), Self.list(other))
        let error = try await failure { client throws(ClientError) in
            _ = try Draining(client) { _ in }.run(1)
        }
        #expect(error.exitStatus == .failure && "\(error)".contains("2 tenants"))
    }

    @Test func `where nobody answers any more it ends`() async throws {
        let draining = Self.node(1, tenants: 2, state: "draining", isThis: true)
        serve(Self.list(draining, Self.node(2)))
        let error = try await failure { [origin = gateway.origin] client throws(ClientError) in
            client.persistence.absence = .seconds(1)
            _ = try Draining(client) { _ in origin.stop() }.run(1)
        }
        #expect(error.exitStatus == .noGateway)
    }

    @Test func `where nobody would take the tenants nothing is changed`() async throws {
        serve(Self.list(Self.node(1, tenants: 3, isThis: true), Self.node(2, state: "draining")))
        let error = try await failure { client throws(ClientError) in
            _ = try Draining(client) { _ in }.run(nil)
        }
        #expect(error.exitStatus == .failure && "\(error)".contains("no other beside it"))
        #expect(gateway.requests("PATCH", Self.path + "/1").isEmpty)
    }

    @Test func `a number that no node has is told, and a node that was called back`() async throws {
        let other = Self.node(2)
        let serving = Self.list(Self.node(1, tenants: 2, isThis: true), other)
        let draining = Self.node(1, tenants: 2, state: "draining", isThis: true)
        // The third one is what was known before.
        serve(serving, serving, serving, Self.list(draining, other), serving)
        let unknown = try await failure { client throws(ClientError) in
            _ = try Draining(client) { _ in }.run(7)
        }
        #expect("\(unknown)" == "there is no node 7, or none any more")
        let calledBack = try await failure { client throws(ClientError) in
            _ = try Draining(client) { _ in }.run(1)
        }
        #expect("\(calledBack)".contains("serves again"))
    }

    @Test func `it is called back by --cancel`() async throws {
        serve(Self.list(Self.node(1, state: "draining", isThis: true), Self.node(2)))
        let node = try await onThread { [gateway] () throws(ClientError) in
            try RemoteNode(try Draining(try gateway.client()) { _ in }.cancel(nil))
        }
        #expect(node.state == "serving")
        #expect(gateway.requests("PATCH", Self.path + "/1").count == 1)
    }
}

/// Lines that were said, by any thread.
private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
