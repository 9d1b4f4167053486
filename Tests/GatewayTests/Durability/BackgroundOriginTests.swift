import Foundation
import TestSupport
import Testing

/// Downloads of a background session from origins that die in every phase of an answer: each ends
/// once, with the right bytes, and with nothing fetched twice where ranges work (S-52, R-13).
@Suite(.sharedGateway)
struct BackgroundOriginTests {
    private static let length = 1_000_003
    private let client: TestClient
    private let origin: ScriptedOrigin

    init() throws {
        client = try RunningGateway.shared.client
        origin = try ScriptedOrigin()
    }

    private static let resource = Resource(length)

    /// An answer that is reset after so many bytes, and goes on by range.
    private static func cut(after count: Int) -> Behaviour {
        var resource = resource
        resource.resetsAfter = count
        return resource.behaviour
    }

    /// A way for an answer to fail, and how many bytes of its body may have to be fetched again.
    struct Death: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let behaviour: Behaviour
        var isFetchedAgain = 0
    }

    private static let deaths = [
        Death(testDescription: "closed before the head", behaviour: Behaviour { $0.close() }),
        Death(testDescription: "reset before the head", behaviour: .reset()),
        Death(
            testDescription: "closed within the head",
            behaviour: Behaviour { exchange in
                try exchange.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Le")
                exchange.close()
            }),
        Death(
            testDescription: "closed behind the head",
            behaviour: Behaviour { exchange in
                try exchange.head(200, ["Content-Length": "\(length)", "ETag": "\"v1\""])
                exchange.close()
            }),
        Death(testDescription: "reset in the body", behaviour: cut(after: 300_000)),
        Death(testDescription: "reset before the last byte", behaviour: cut(after: length - 1)),
        Death(
            testDescription: "closed in the body, without ranges",
            behaviour: .truncated(after: 300_000, of: length), isFetchedAgain: 300_000),
        Death(
            testDescription: "closed between chunks",
            behaviour: .truncatedChunks(after: 300_000), isFetchedAgain: 300_000),
    ]

    @Test(arguments: deaths)
    func `an origin that dies is asked again, and what has come is not`(death: Death) async throws {
        origin.on("/file", .inTurn(death.behaviour, Self.resource.behaviour))
        let story = try await run()
        #expect(story.retries.map { $0["reason"].string } == ["networkConnectionLost"])
        #expect(story.received <= Self.length + death.isFetchedAgain)
        #expect(origin.requests(for: "/file").count == 2)
    }

    @Test func `an origin that dies in each of its phases, one after the other`() async throws {
        origin.on(
            "/file",
            .inTurn(
                .reset(), Self.cut(after: 100_000), Behaviour { $0.close() },
                Self.cut(after: 500_000), Self.resource.behaviour))
        let story = try await run()
        #expect(story.retries.count == 4)
        #expect(story.received == Self.length)
        // What has brought something begins the wait anew; what has not doubles it.
        let delays = story.retries.map { $0["delay"].double ?? 0 }
        #expect(delays.allSatisfy { (0.8...2.4).contains($0) })
    }

    @Test func `connections that are closed as soon as they are taken`() async throws {
        origin.on("/file", Self.resource.behaviour)
        let origin = origin
        origin.onConnection { wire in
            if origin.connectionCount <= 2 { wire.close() }
        }
        let story = try await run()
        #expect(story.retries.count == 2 && story.received == Self.length)
        #expect(origin.requests(for: "/file").count == 1)
    }

    @Test func `a status that may pass is asked again when it says (RFC 9110 §10.2.3)`()
        async throws
    {
        origin.on(
            "/file",
            .inTurn(
                .fixed(503, ["Retry-After": "1"], "busy"), .fixed(429, ["Retry-After": "2"]),
                Self.cut(after: 300_000), Self.resource.behaviour))
        let story = try await run([
            "retry": ["attempts": 2, "statuses": [429, 503], "backoff": ["initial": 0.01]]
        ])
        #expect(
            story.retries.map { $0["reason"].string } == [
                "status 503", "status 429", "networkConnectionLost",
            ])
        let delays = story.retries.map { $0["delay"].double ?? 0 }
        #expect(delays.count == 3 && delays[0] >= 1 && delays[1] >= 2)
    }

    // MARK: The story of a download

    private struct Story {
        /// What was told of attempts that follow.
        let retries: [TestJSON]
        /// Bytes of bodies, over all attempts.
        let received: Int
    }

    /// Runs a download of a background session that nobody listens to, and holds against each other
    /// what is told of it.
    private func run(_ members: TestJSON = [:]) async throws -> Story {
        let identifier = UUID().uuidString
        let session = try await client.post(
            "/v1/sessions",
            ["type": "background", "identifier": .string(identifier), "delegate": [:]]
        ).json(201, of: "POST session")
        var spec = members.object ?? [:]
        spec["type"] = "download"
        spec["resume"] = true
        spec["computeDigest"] = true
        spec["request"] = ["url": .string(origin.url("/file"))]
        let created = try await client.post("/v1/sessions/\(session.id)/tasks", .object(spec))
            .json(201, of: "POST task")
        let task = try await client.completedTask(created.id, within: .seconds(60))
        #expect(task["error"].isNull && [200, 206].contains(task["response"]["status"].int))
        let content = try await client.content(created.id)
        #expect(content.count == Self.length && Pattern.firstDifference(in: content) == nil)
        let digest = try await ReferenceDigest.of(content)
        #expect(task["content"]["digest"].string == digest)

        let told = try await client.events("/v1/sessions/\(session.id)/events?replay=all")
            .collect { $0.event == "session.didFinishEvents" }
        #expect(told.count { $0.event == "task.didComplete" } == 1)
        #expect(told.count { $0.event == "download.didFinishDownloading" } == 1)
        #expect(told.count { $0.event == "session.didFinishEvents" } == 1)
        // A wait that was told has an end that was told.
        let retries = told.filter { $0.event == "task.willRetry" }
        let ends = told.filter { $0.event == "task.didChange" }
        #expect(ends.count <= retries.count)
        #expect(ends.allSatisfy { $0.json["changes"]["waitingFor"].isNull })
        let received = (task["metrics"]["transactions"].array ?? [])
            .reduce(0) { $0 + ($1["countOfResponseBodyBytesReceived"].int ?? 0) }
        return Story(retries: retries.map(\.json), received: received)
    }
}
