import Foundation
import TestSupport
import Testing

/// A gateway that may have so many descriptors, and reach loopback.
struct NarrowGateway {
    let process: ChildProcess
    /// With the gateway's token.
    let client: TestClient
    private let home: TemporaryDirectory

    init(descriptors count: Int) async throws {
        home = try TemporaryDirectory()
        let command = """
            ulimit -n \(count); exec '\(RunningGateway.executable)' serve --port 0 \
            --data-directory '\(home.file("data"))' --allow-destination 127.0.0.0/8
            """
        process = try ChildProcess(
            "/bin/sh", ["-c", command],
            environment: ["HOME": home.path, "XDG_RUNTIME_DIR": home.path])
        let line = try await process.waitForLine { $0.hasPrefix("Ferry listens on http") }
        let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
        let client = TestClient(.tcp(host: "127.0.0.1", port: port), token: home.token(in: "data"))
        self.client = client
        try await eventually { try await client.get("/readyz").status == 200 }
    }

    /// How many descriptors it has open.
    func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(
            atPath: "/proc/\(process.identifier)/fd"
        ).count
    }
}
