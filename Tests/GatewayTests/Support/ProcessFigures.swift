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

    /// The processor time that it has used, of user and system, to the hundredth of a second.
    func processorTime() throws -> Duration {
        let status = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        // Behind the name, which may have blanks: state is the first, utime and stime 12th and
        // 13th.
        let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.dropFirst(11).prefix(2).compactMap { Int($0) }.reduce(0, +)
        return .milliseconds(ticks * 10)
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
        within limit: Duration = .patience, _ figure: () async -> UInt64
    ) async throws -> UInt64 {
        var last = await figure()
        var since = ContinuousClock.now
        try await eventually(within: limit, "a figure to stand still") {
            let now = await figure()
            if now != last { (last, since) = (now, .now) }
            return .now - since > .milliseconds(500)
        }
        return last
    }
}
