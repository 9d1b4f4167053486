@testable import Engine
import Files
import Glibc
import Loop
import Synchronization
import TestSupport
import Testing

/// Work on files for which the process has no descriptor.
@Suite struct DescriptorWaits {
    init() { LoopActor.loop.start() }

    /// Work that fails so many times.
    private final class Work: Sendable {
        private let failures: Int
        private let code: CInt
        private let runs = Mutex(0)

        init(failing failures: Int, by code: CInt) {
            self.failures = failures
            self.code = code
        }

        var runCount: Int { runs.withLock(\.self) }

        func run() throws -> String {
            let number = runs.withLock {
                $0 += 1
                return $0
            }
            if number <= failures { throw FileError("open", code: code) }
            return "open"
        }
    }

    @LoopActor
    @Test(arguments: [EMFILE, ENFILE])
    func `a file is opened when there is a descriptor again`(code: CInt) async throws {
        let files = FileThreads(count: 1)
        let work = Work(failing: 3, by: code)
        #expect(try await files.runOpening { try work.run() } == "open")
        #expect(work.runCount == 4)
    }

    @LoopActor
    @Test func `any other error is told at once`() async throws {
        let files = FileThreads(count: 1)
        let work = Work(failing: 1, by: ENOENT)
        await #expect(throws: FileError("open", code: ENOENT)) {
            try await files.runOpening { try work.run() }
        }
        #expect(work.runCount == 1)
    }

    @LoopActor
    @Test func `who does not wait any more ends the waiting`() async throws {
        let files = FileThreads(count: 1)
        let work = Work(failing: .max, by: EMFILE)
        let waiting = LoopActor.start {
            _ = await #expect(throws: FileError("open", code: EMFILE)) {
                try await files.runOpening { try work.run() }
            }
        }
        try await eventually("a first try") { work.runCount > 0 }
        waiting.cancel()
        await waiting.value
    }
}
