import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// Cookies of a download whose ranges are fetched side by side.
extension CookieStorageTests {
    @Test @LoopActor
    func `answers to the ranges of a download set cookies (S-21)`() async throws {
        let house = try await House.open()
        let session = try await house.session { $0.httpMaximumConnectionsPerHost = 8 }
        let server = RangeServer(Pattern.bytes(count: 7_000_123))
        server.serve(house.network)
        server.held = [0]
        let task = try await house.create(
            try house.spec(.download) { $0.connections = 3 }, in: session)
        let first = try await house.network.attempt(0)
        server.extraFields = ["Set-Cookie": "part=1"]
        first.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "7000123"])
        _ = try await house.network.attempt(2)
        try await eventually("a range's cookie") { try await house.jar(session) == ["part=1"] }
        first.body(server.bytes)
        #expect(try await house.finished(task).error == nil)
        #expect(try await house.read(task) == server.bytes)
    }
}
