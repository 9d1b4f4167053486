import Foundation
import TestSupport
import Testing

/// `kill -9` at random moments of a segmented download, which goes on by its resume data until it
/// is whole: the digest is right every time, and no file is spliced from two entities (R-2, R-3,
/// S-34…S-36, S-56).
struct SegmentCrashTests {
    private static let length = 12_000_001
    /// `FERRY_CRASH_ROUNDS=50` for a night.
    private static let rounds =
        ProcessInfo.processInfo.environment["FERRY_CRASH_ROUNDS"].flatMap { Int($0) } ?? 6

    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin()
        var resource = Resource(Self.length)
        resource.pause = .milliseconds(12)
        origin.on("/file", .resource(resource))
    }

    @Test func `a segmented download survives kills at any moment, with the right digest`()
        async throws
    {
        let digest = try await ReferenceDigest.of(Pattern.bytes(count: Self.length))
        try await RunningGateway.alone { first in
            var gateway = first
            for round in 0..<Self.rounds {
                gateway = try await downloadAcrossKills(round, digest, gateway)
            }
            let report = try await InvariantChecker(gateway.client).check()
            #expect(report.violations.isEmpty)
            try await gateway.kill9()
        }
    }

    /// - Returns: the gateway that runs in the end.
    private func downloadAcrossKills(
        _ round: Int, _ digest: String, _ first: RunningGateway
    ) async throws -> RunningGateway {
        var gateway = first
        var spec: TestJSON = [
            "type": "download", "resume": true, "connections": 4, "expectedDigest": .string(digest),
            "request": ["url": .string(origin.url("/file"))],
        ]
        var kept: Int64 = 0
        for attempt in 0..<40 {
            let created = try await gateway.client.post("/v1/sessions/shared/tasks", spec)
                .json(201, of: "POST task")
            // At another moment every time; in the end it is left alone.
            if attempt < 3 {
                let moment = Int.random(in: 1...max(2, Self.length - Int(kept)))
                _ = try await gateway.client.task(created.id, within: .seconds(60)) {
                    $0["state"].string == "completed"
                        || ($0["countOfBytesReceived"].int ?? 0) >= Int(kept) + moment
                }
                try await gateway.kill9()
                gateway = try await gateway.restarted()
            }
            let task = try await gateway.client.completedTask(created.id, within: .seconds(60))
            if task["error"].isNull {
                let content = try await gateway.client.content(created.id)
                #expect(content.count == Self.length)
                #expect(Pattern.firstDifference(in: content) == nil, "round \(round)")
                #expect(task["content"]["digest"].string == digest)
                return gateway
            }
            #expect(task.errorCode == -997, "\(task)")
            if let data = task["error"]["userInfo"]["NSURLSessionDownloadTaskResumeData"].string {
                kept = Int64(task["countOfBytesReceived"].int ?? 0)
                spec = [
                    "type": "download", "resume": true, "connections": 4,
                    "expectedDigest": .string(digest), "resumeData": .string(data),
                ]
            }
        }
        Issue.record("round \(round) did not come to an end")
        return gateway
    }
}
