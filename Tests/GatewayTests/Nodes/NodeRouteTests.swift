import Engine
import REST
import Semantics
import TestSupport
import Testing

/// The nodes, as the operator sees and steers them.
struct NodeRouteTests {
    @Test func `nodes are listed, shown and drained by any of them`() async throws {
        try await TwoNodes.run { nodes in
            let listed = try await nodes.owner.get("/v1/nodes").json(200, of: "GET nodes")
            #expect(listed["nodes"].array?.map { $0["node"].int } == [1, 2])
            let own = listed["nodes"][0]
            #expect(own["address"].string == "http://\(nodes.first.endpoint)")
            #expect(own["isThis"].bool == true && own["state"].string == "serving")
            #expect(own["tenants"].int == 2)
            #expect(own["joinedAt"].string == "2023-11-14T22:13:20.001Z")
            let drained = try await nodes.owner.patch("/v1/nodes/2", ["state": "draining"])
                .json(200, of: "PATCH node")
            #expect(drained["state"].string == "draining" && drained["isThis"].bool == false)
            #expect(try await nodes.owner.get("/v1/nodes/2").json == drained)
            let again = try await nodes.owner.patch("/v1/nodes/2", ["state": "serving"])
            #expect(again.json["state"].string == "serving")
            for path in ["/v1/nodes/3", "/v1/nodes/0", "/v1/nodes/01", "/v1/nodes/x"] {
                #expect(try await nodes.owner.get(path).status == 404, "\(path)")
                let changed = try await nodes.owner.patch(path, ["state": "serving"])
                #expect(changed.status == 404 && changed.problem == "not-found", "\(path)")
            }
            let wrong = try await nodes.owner.patch("/v1/nodes/2", ["state": "gone"])
            #expect(wrong.status == 422 && wrong.json["pointer"].string == "/state")
            #expect(try await nodes.away.get("/v1/nodes").status == 403)
        }
    }

    @Test func `a gateway alone has no nodes`() async throws {
        let token = AccessToken.make()
        try await InProcessGateway.run([(token, .operator)]) { gateway in
            let owner = TestClient(gateway.endpoint, token: token.text)
            #expect(try await owner.get("/v1/nodes").json == ["nodes": []])
            #expect(try await owner.get("/v1/nodes/1").status == 404)
            let changed = try await owner.patch("/v1/nodes/1", ["state": "draining"])
            #expect(changed.status == 404 && changed.problem == "not-found")
            #expect(try await !owner.get("/metrics").text.contains("ferry_node"))
        }
    }

    @Test func `what the operator asks for is done by the node that has the operator's tenant`()
        async throws
    {
        try await TwoNodes.run { nodes in
            try await nodes.book.give(.operatorTenant, to: 2)
            _ = try await nodes.owner.post("/v1/tenants", ["name": "team"])
                .json(201, of: "POST tenants")
            let there = await nodes.second.engine.tenants.list(after: nil, limit: 10).records
            let here = await nodes.first.engine.tenants.list(after: nil, limit: 10).records
            #expect(there.contains { $0.name == "team" } && !here.contains { $0.name == "team" })
            // Figures are each node's own.
            let gateway = try await nodes.owner.get("/v1/gateway")
            #expect(gateway.status == 200)
            #expect(try await nodes.owner.get("/metrics").text.contains("\nferry_node_tenants 1\n"))
        }
    }
}
