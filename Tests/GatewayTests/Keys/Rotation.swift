import Foundation
import TestSupport

/// `ferry key rotate`, as an operator runs it.
struct Rotation {
    /// The data directory.
    let directory: String
    var arguments: [String] = []
    var environment: [String: String] = [:]

    /// Starts it.
    func start() throws -> ChildProcess {
        let own = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("FERRY_") }
        return try ChildProcess(
            RunningGateway.executable,
            ["key", "rotate", "--data-directory", directory] + arguments,
            environment: own.merging(environment) { $1 })
    }

    /// Runs it to its end.
    func run() async throws -> WholeRun {
        try await WholeRun(start())
    }
}

/// How a program has ended, and all that it has said.
struct WholeRun {
    let exit: ChildProcess.Exit
    let said: String
    let reason: String

    init(_ process: ChildProcess) async throws {
        exit = try await process.waitForExit()
        for stream in [ChildProcess.Stream.output, .errors] {
            // There is no such line: it returns at the stream's end, which may come after the exit.
            _ = try? await process.waitForLine(on: stream) { _ in false }
        }
        said = process.outputText
        reason = process.errorText
    }
}

/// Keys as an operator makes them.
enum OperatorKey {
    /// 64 hexadecimal digits.
    static func digits() -> String {
        (0..<32).map { _ in
            let byte = UInt8.random(in: 0...255)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// A file with 32 random bytes, for its owner only.
    static func makeFile(_ name: String, in directory: TemporaryDirectory) throws -> String {
        let path = try directory.write(name, (0..<32).map { _ in UInt8.random(in: 0...255) })
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }
}
