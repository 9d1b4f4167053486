import Foundation
import TestSupport
import Testing

/// `kill -9` at random moments of staged uploads: what was acknowledged is there, the upload goes
/// on from it, and the digest is right every time.
struct UploadCrashTests {
    private static let length = 6_000_001
    /// `FERRY_CRASH_ROUNDS=50` for a night.
    private static let rounds =
        ProcessInfo.processInfo.environment["FERRY_CRASH_ROUNDS"].flatMap { Int($0) } ?? 10

    private let bytes = Pattern.bytes(count: Self.length)

    @Test func `a staged upload survives kills at any moment, with the right digest`() async throws
    {
        let digest = try await ReferenceDigest.of(bytes)
        try await RunningGateway.alone { first in
            var gateway = first
            var sound: [String] = []
            for round in 0..<Self.rounds {
                let id = try await gateway.client.openUpload([
                    "Upload-Length": "\(Self.length)", "Repr-Digest": digest,
                ]).id
                var acknowledged = 0
                for kill in 0..<3 {
                    let upload = TestUpload(client: gateway.client, id: id)
                    acknowledged = try await disturb(
                        upload, kill + round, from: acknowledged, killing: gateway)
                    gateway = try await gateway.restarted()
                    let state = try await TestUpload(client: gateway.client, id: id).state()
                    #expect(state.offset >= acknowledged, "round \(round)")
                    acknowledged = state.offset
                    if state.isComplete { break }
                }
                let upload = TestUpload(client: gateway.client, id: id)
                if try await !upload.state().isComplete {
                    let last = try await upload.append(
                        Array(bytes[acknowledged...]), at: acknowledged, completes: true)
                    #expect(last.status == 204, "round \(round): \(last.text)")
                }
                let content = try await upload.content()
                #expect(content.headers["Repr-Digest"] == digest)
                #expect(content.body == bytes, "round \(round)")
                sound.append(id)
            }
            try await verifyFiles(of: gateway, sound)
            try await gateway.kill9()
        }
    }

    /// Sends some of the bytes, and kills the gateway at a moment that is another one each time.
    /// - Returns: the offset that the gateway has acknowledged last.
    private func disturb(
        _ upload: TestUpload, _ kind: Int, from start: Int, killing gateway: RunningGateway
    ) async throws -> Int {
        var offset = start
        // Some of it in requests that are answered.
        if kind.isMultiple(of: 2) {
            let end = min(Self.length, offset + Int.random(in: 0...1_000_000))
            let answer = try await upload.append(Array(bytes[offset..<end]), at: offset)
            #expect(TestUpload.State(answer) == .init(offset: end, isComplete: false))
            offset = end
        }
        let rest = bytes[offset...]
        let connection = try await upload.begin(at: offset, length: rest.count, completes: true)
        switch kind % 4 {
        case 0, 1:  // in the middle
            let count = Int.random(in: 0...rest.count)
            try await connection.send(Array(rest.prefix(count)))
        case 2:  // behind a checkpoint, which was told by the list
            let count = Int.random(in: 1...max(1, rest.count / 2))
            try await connection.send(Array(rest.prefix(count)))
            let before = offset
            try await eventually("a checkpoint") {
                offset = try await upload.listed()["length"].int ?? 0
                return offset > before || rest.isEmpty
            }
            try await connection.send(Array(rest.dropFirst(count).prefix(100_000)))
        default:  // while it is completed
            try await connection.send(Array(rest))
            for _ in 0..<Int.random(in: 0...30) { await Task.yield() }
        }
        try await gateway.kill9()
        connection.close()
        return offset
    }

    /// No file without a record, and no part of a complete one.
    private func verifyFiles(of gateway: RunningGateway, _ ids: [String]) async throws {
        try await eventually(within: .seconds(120), "the sweep of the content folder") {
            let names = try gateway.directory.contents().filter {
                $0.hasPrefix("data/content/") && $0.contains("fil_")
            }
            return names.compactMap { $0.split(separator: "/").last.map(String.init) }.sorted()
                == ids.sorted()
        }
    }
}
