import Foundation
import TestSupport

/// A server that is a script of Python's: it prints `port N` first, then a line for each thing that
/// a test may ask about, and answers a connection that sends `MARK text` by printing that line. It
/// prints by `tell`, since the pieces of a `print` may lie among those of another thread.
final class PythonServer: Sendable {
    let port: UInt16
    private let process: ChildProcess

    init(_ script: String, _ arguments: [String]) async throws {
        process = try ChildProcess("python3", ["-u", "-c", Self.beginning + script] + arguments)
        let line = try await process.waitForLine { $0.hasPrefix("port ") }
        guard let port = UInt16(line.dropFirst(5)) else { throw NoPort() }
        self.port = port
    }

    /// What it has printed so far, as far as it has been read.
    var linesSoFar: [String] {
        process.outputText.split(separator: "\n").dropFirst().map(String.init)
            .filter { !$0.hasPrefix("MARK ") }
    }

    /// All that it had printed when it was asked.
    var lines: [String] {
        get async throws {
            let mark = "MARK \(UUID().uuidString)"
            let connection = try await TestConnection(.tcp(host: "127.0.0.1", port: port))
            try await connection.send(mark + "\r\n\r\n")
            _ = try await process.waitForLine { $0 == mark }
            return linesSoFar
        }
    }

    struct NoPort: Error {}

    private static let beginning = #"""
        import sys
        def tell(*words):
            sys.stdout.write(" ".join(map(str, words)) + "\n")

        """#
}
