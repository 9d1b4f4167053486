import Glibc
import TestSupport
import Testing

@testable import Client

/// Results that nobody gets.
struct ScreenResultTests {
    @Test func `a result that cannot be written is an error`() throws {
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let screen = Screen(descriptor: full, environment: [:])
        try screen.requireReader()
        screen.printResult("lost")
        #expect(throws: ClientError.file(path: "standard output", failure: ENOSPC)) {
            try screen.requireWritten()
        }
        #expect(throws: ClientError.file(path: "standard output", failure: ENOSPC)) {
            try screen.write("lost, too")
        }
    }

    @Test func `a pipe that nobody reads any more is noticed before anything is written`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let screen = Screen(descriptor: ends[1], environment: [:])
        defer { close(ends[1]) }
        try screen.requireReader()
        close(ends[0])
        #expect {
            try screen.requireReader()
        } throws: { error in
            guard let error = error as? ClientError else { return false }
            return error.isOfGoneReader && error.exitStatus == .cannotWrite
                && ClientError.resumable(error).isOfGoneReader
        }
    }

    @Test func `a reader that is slow is waited for, also where the pipe does not block`()
        async throws
    {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { [reader, writer].forEach { close($0) } }
        _ = fcntl(writer, F_SETFL, O_NONBLOCK)
        let text = String(repeating: "x", count: 1 << 20)
        async let written: Void = onThread { () throws(ClientError) in
            try Screen(descriptor: writer, environment: [:]).write(text)
        }
        let count = try await onThread { () throws(ClientError) -> Int in
            var (count, room) = (0, [UInt8](repeating: 0, count: 4096))
            while count < text.utf8.count { count += max(0, read(reader, &room, room.count)) }
            return count
        }
        try await written
        #expect(count == text.utf8.count)
    }
}
