import Foundation
import TestSupport

/// `ferry serve` as an operator starts it, without what `RunningGateway` adds.
struct Serve {
    /// How a start ended that was refused.
    struct Refusal {
        let exit: ChildProcess.Exit
        let reason: String
    }

    let arguments: [String]
    var environment: [String: String] = [:]
    /// What a shell does before it becomes the gateway; nil where none is needed.
    var prelude: String?
    /// Stands for the operator's home and runtime directory.
    let home: TemporaryDirectory

    /// Starts it.
    func start() throws -> ChildProcess {
        var all = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("FERRY_") }
        all["HOME"] = home.path
        all["XDG_RUNTIME_DIR"] = home.path
        all.merge(environment) { $1 }
        guard let prelude else {
            return try ChildProcess(
                RunningGateway.executable, ["serve"] + arguments, environment: all)
        }
        let words = ["-c", prelude + "; exec \"$0\" serve \"$@\"", RunningGateway.executable]
        return try ChildProcess("/bin/bash", words + arguments, environment: all)
    }

    /// Starts it, waits until it is ready, and gives its address.
    func ready() async throws -> (process: ChildProcess, client: TestClient) {
        let process = try start()
        let line = try await process.waitForLine { $0.hasPrefix("Ferry listens on http") }
        let port = line.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        let client = TestClient(.tcp(host: "127.0.0.1", port: port))
        try await eventually("/readyz to answer 200") {
            try await client.get("/readyz").status == 200
        }
        return (process, client)
    }

    /// Starts it and waits for its end.
    func refusal() async throws -> Refusal {
        let process = try start()
        let exit = try await process.waitForEnd()
        return Refusal(exit: exit, reason: process.errorText)
    }
}

extension TemporaryDirectory {
    /// The token of a gateway whose data directory is `name` in here; nil where none was made.
    func token(in name: String) -> String? {
        try? String(contentsOfFile: file(name + "/token"), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
