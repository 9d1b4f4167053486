import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// Cookies of a download whose ranges are fetched side by side.
extension CookieStorageTests {
    @Test @LoopActor
    func `answers to the ranges of a download set cookies (S-21)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 8 }
        let server = RangeServer(Pattern.bytes(count: 7_000_123))
        server.serve(harness.network)
        server.held = [0]
        let task = try await harness.create(
            try harness.spec(.download) { $0.connections = 3 }, in: session)
        let first = try await harness.network.attempt(0)
        server.extraFields = ["Set-Cookie": "part=1"]
        first.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "7000123"])
        _ = try await harness.network.attempt(2)
        try await eventually("a range's cookie") { try await harness.jar(session) == ["part=1"] }
        first.body(server.bytes)
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == server.bytes)
    }
}
