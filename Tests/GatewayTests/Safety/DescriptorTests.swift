import TestSupport
import Testing

/// A process with few descriptors: nothing fails for want of one, and every operation answers
///
@Suite(.serialized) struct DescriptorTests {
    /// Far below the 75 s after which an idle connection gives its descriptor back; machines that
    /// run tests may be slow.
    private static let limit = Duration.seconds(30)

    @Test func `300 downloads of many sessions and 400 idle connections hold up nobody`()
        async throws
    {
        try await Permits.gateways.use {
            let origin = try ScriptedOrigin()
            origin.on("/file", .fixed(200, [:], String(repeating: "x", count: 200_000)))
            let gateway = try await NarrowGateway(descriptors: 256)
            let client = gateway.client
            var sessions: [TestSession] = []
            for _ in 0..<100 { sessions.append(try await client.createSession()) }
            var crowd: [TestConnection] = []
            for _ in 0..<400 { crowd.append(try await client.connect()) }

            let spec = TestSession.spec("download", origin.url("/file"), ["resume": true])
            for session in sessions {
                try await Self.answers {
                    try await client.post(
                        session.path + "/tasks", .array(Array(repeating: spec, count: 3))
                    ).status == 200
                }
            }
            var left = sessions
            try await eventually(within: .seconds(120), "the downloads to end") {
                try await Self.answers { try await client.get("/healthz").status == 200 }
                guard let session = left.last else { return true }
                var isDone = false
                try await Self.answers {
                    let answer = try await client.get(session.path)
                    isDone = answer.json["taskCounts"]["completed"].int == 3
                    return answer.status == 200
                }
                if isDone { left.removeLast() }
                return left.isEmpty
            }
            for session in sessions {
                let tasks = try await client.get(session.path + "/tasks?state=completed")
                    .json["tasks"].array
                #expect(tasks?.count == 3)
                #expect(tasks?.map { $0["error"] }.first { !$0.isNull } == nil)
            }
            crowd.forEach { $0.close() }
            try await gateway.process.killNow()
        }
    }

    @Test func `connections that a hundred sessions keep do not starve the next one`()
        async throws
    {
        try await Permits.gateways.use {
            let origin = try ScriptedOrigin()
            origin.on("/file", .fixed(200, [:], String(repeating: "x", count: 100_000)))
            let gateway = try await NarrowGateway(descriptors: 256)
            var kept: [TestSession] = []
            for _ in 0..<101 {
                let session = try await gateway.client.createSession()
                let id = try await session.start("download", origin.url("/file"))
                #expect(try await gateway.client.completedTask(id)["error"].isNull)
                #expect(try gateway.openDescriptors() < 200)
                kept.append(session)
            }
            #expect(origin.openConnections > 10, "as many as there is room for are kept")
            try await Self.answers { try await gateway.client.get("/healthz").status == 200 }
            try await gateway.process.killNow()
        }
    }

    private static func answers(_ operation: () async throws -> Bool) async throws {
        let start = ContinuousClock.now
        #expect(try await operation())
        #expect(.now - start < limit)
    }
}
