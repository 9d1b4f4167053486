import Foundation
import TestSupport

extension ChildProcess {
    /// The resident memory, in bytes.
    func residentBytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first
        return (kibibytes.flatMap { Int($0) } ?? 0) * 1024
    }
}

/// What the kernel may hold of a connection's bytes.
enum SocketBuffers {
    /// The most that one side's receive and one side's send buffer grow to together, in bytes.
    static func largest() throws -> UInt64 {
        try ["tcp_rmem", "tcp_wmem"].reduce(0) { sum, name in
            let text = try String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
            return sum
                + (text.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0) } ?? 0)
        }
    }
}

/// Waits until a figure has stopped growing.
enum Stillness {
    /// The figure that has not changed for half a second.
    static func of(
        within limit: Duration = .seconds(30), _ figure: () -> UInt64
    ) async throws -> UInt64 {
        var last = figure()
        var since = ContinuousClock.now
        try await eventually(within: limit, "a figure to stand still") {
            let now = figure()
            if now != last { (last, since) = (now, .now) }
            return .now - since > .milliseconds(500)
        }
        return last
    }
}
