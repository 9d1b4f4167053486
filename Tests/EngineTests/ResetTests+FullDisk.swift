import Foundation
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// A disk that is full when a session is flushed.
extension ResetTests {
    @Test(
        .enabled("needs a file system of its own", { geteuid() == 0 }), arguments: [true, false])
    @LoopActor
    func `a download is whole when a full disk has room again, flushed or not (S-13, R-5)`(
        isFlushed: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        _ = try await ChildProcess.run(
            "mount", ["-t", "tmpfs", "-o", "size=1m", "none", directory.path])
        let outcome = await outcome { try await self.fill(directory, flushing: isFlushed) }
        // Lazily: descriptors may still be open.
        _ = try await ChildProcess.run("umount", ["-l", directory.path])
        try outcome.get()
    }

    @LoopActor
    private func fill(_ directory: TemporaryDirectory, flushing isFlushed: Bool) async throws {
        let harness = try await TestGateway(directory: directory)
        await harness.gateway.start()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        let bytes = Pattern.bytes(count: 300_000)
        attempt.head(200, ["ETag": "\"one\"", "Content-Length": "300000"])
        attempt.body(Array(bytes[..<1000]))
        let filler = directory.file("filler")
        try Data(repeating: 0, count: 700 << 10).write(to: URL(fileURLWithPath: filler))
        let rest = directory.file("rest")
        while (try? Data(repeating: 0, count: 4096).append(to: rest)) != nil {}
        let start = isFlushed ? 1400 : 1000
        if isFlushed {
            // However late the loop hears of what the disk has said.
            let busy = Gate()
            defer { busy.open() }
            for _ in 0..<2 { Thread.detachNewThread { while !busy.isOpen {} } }
            for end in 1000..<start {
                await #expect(throws: GatewayError.diskFull) {
                    try await harness.gateway.sessions.flush(session, of: harness.tenant)
                }
                attempt.body([bytes[end]])
            }
            #expect(try await harness.task(task).checkpoint == nil, "of bytes that are not there")
        }
        // The part that could not be written fills its block, and that cannot be written either.
        attempt.body(Array(bytes[start..<100_000]))
        try await eventually("a full disk") {
            guard case .spool(let spool)? = harness.gateway.tasks.directory.runners[task]?.sink
            else {
                return false
            }
            return spool.isWaitingForRoom
        }
        try FileManager.default.removeItem(atPath: filler)
        attempt.body(Array(bytes[100_000...]))
        attempt.end()
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == bytes)
    }
}

extension Data {
    /// Appends to a file, which is made if there is none.
    fileprivate func append(to path: String) throws {
        if !FileManager.default.fileExists(atPath: path) {
            try Data().write(to: URL(fileURLWithPath: path))
        }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: self)
    }
}
