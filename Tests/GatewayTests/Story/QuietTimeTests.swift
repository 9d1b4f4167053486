import Foundation
import REST
import Semantics
import TestSupport
import Testing

/// Quiet time over the wire (S-27), and the operator's say (S-55).
struct QuietTimeTests {
    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin()
        origin.on("/file", .fixed(200, [:], "the file"))
    }

    /// Hours that are far from now, by UTC.
    private var otherHours: String {
        let hour = Int(Date().timeIntervalSince1970) / 3600 % 24
        return String(format: "%02d:00-%02d:00", (hour + 9) % 24, (hour + 11) % 24)
    }

    private func background(_ name: String) -> TestJSON {
        ["type": "background", "identifier": .string(name), "delegate": [:]]
    }

    @Test func `work that may be put off waits for its hours, over a restart too (S-27)`()
        async throws
    {
        var options = RunningGateway.Options()
        options.arguments = ["--quiet-hours", otherHours]
        options.environment = ["TZ": "UTC0"]
        try await Permits.gateways.use {
            var gateway = try await RunningGateway(options)
            var client = gateway.client
            let first = try await client.createSession(
                "default", ["configuration": ["isDiscretionary": true]])
            #expect(first.json["configuration"]["isDiscretionary"] == true)
            let created = try await client.post("/v1/sessions", background("nightly"))
                .json(201, of: "POST session")
            let second = TestSession(client: client, id: created.id, json: created)
            var tasks = [
                try await first.start("data", origin.url("/file")),
                try await second.start("download", origin.url("/file")),
            ]
            let events = try await client.events(second.path + "/events")
            #expect(try await second.run("download", origin.url("/file"))["error"].isNull)
            _ = events
            gateway = try await {
                for id in tasks {
                    let task = try await client.task(id)
                    #expect(task["waitingFor"] == "quietTime" && task["isDiscretionary"] == true)
                }
                try await gateway.kill9()
                return try await gateway.restarted()
            }()
            client = gateway.client
            for id in tasks {
                #expect(try await client.task(id)["waitingFor"] == "quietTime")
            }
            try await gateway.kill9()
            // Without hours it is always time.
            gateway = try await RunningGateway(in: gateway.directory)
            tasks = tasks.reversed()
            for id in tasks {
                #expect(try await gateway.client.completedTask(id)["error"].isNull)
            }
            try await gateway.kill9()
        }
    }

    @Test func `the operator holds and ends what may be put off (S-55)`() async throws {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            #expect(try await client.get("/v1/gateway").json["backgroundUpdates"] == true)
            let lone = try await client.patch("/v1/gateway", ["cancel": true])
            #expect(lone.status == 422 && lone.json["pointer"] == "/cancel")
            let held = try await client.patch("/v1/gateway", ["backgroundUpdates": false])
            #expect(held.status == 200 && held.json["backgroundUpdates"] == false)
            let session = try await client.createSession(
                "default", ["configuration": ["isDiscretionary": true]])
            let id = try await session.start("data", origin.url("/file"))
            #expect(try await client.task(id)["waitingFor"] == "quietTime")
            let ended = try await client.patch(
                "/v1/gateway", ["backgroundUpdates": false, "cancel": true])
            #expect(ended.status == 200)
            let error = try await client.completedTask(id)["error"]
            #expect(error["code"].int == -999)
            #expect(
                error["userInfo"]["NSURLErrorBackgroundTaskCancelledReasonKey"].int == 1)
            #expect(origin.requests.isEmpty)
            let on = try await client.patch("/v1/gateway", ["backgroundUpdates": true])
            #expect(on.json["backgroundUpdates"] == true)
            #expect(try await session.run("data", origin.url("/file"))["error"].isNull)
            try await gateway.kill9()
        }
    }

    @Test func `the operator alone cancels as the operator, and background tasks only (S-55)`()
        async throws
    {
        let (owner, user) = (AccessToken.make(), AccessToken.make())
        let home = TenantID(rawValue: 1)
        let all = Set(Scope.allCases)
        try await InProcessGateway.run([
            (owner, Principal(tenant: home, scopes: all)),
            (user, Principal(tenant: home, scopes: all.subtracting([.admin]))),
        ]) { gateway in
            let client = TestClient(gateway.endpoint, token: owner.text)
            let json = try await client.post("/v1/sessions", background("nightly"))
                .json(201, of: "POST session")
            let session = TestSession(client: client, id: json.id, json: json)
            let task = try await session.create("download", "http://192.0.2.1/").id
            let asOperator: TestJSON = ["reason": "operator"]
            let path = "/v1/tasks/\(task)/cancel"
            let refused = try await TestClient(gateway.endpoint, token: user.text)
                .post(path, asOperator)
            #expect(refused.status == 403 && refused.problem == "forbidden")
            #expect(try await client.post(path, ["reason": "boredom"]).status == 422)
            let other = try await client.createSession("ephemeral")
                .create("data", "http://192.0.2.1/").id
            let foreground = try await client.post("/v1/tasks/\(other)/cancel", asOperator)
            #expect(foreground.status == 422 && foreground.json["pointer"] == "/reason")
            for id in [task, other] {
                #expect(try await client.task(id)["state"] == "suspended")
            }
            let ended = try await client.post(path, asOperator).json(200, of: "POST cancel")
            let key = "NSURLErrorBackgroundTaskCancelledReasonKey"
            #expect(ended["error"]["code"].int == -999)
            #expect(ended["error"]["userInfo"][key].int == 0)
            let own = try await client.tell(
                try await session.create("download", "http://192.0.2.1/").id, "cancel")
            #expect(own["error"]["code"].int == -999 && own["error"]["userInfo"][key].isNull)
        }
    }
}
