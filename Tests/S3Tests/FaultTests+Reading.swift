import Loop
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// What is read ahead, and what becomes of it.
extension FaultTests {
    /// The pieces of a content that S3 is asked for.
    private final class Asked: Sendable {
        private let values = Mutex<[String]>([])
        var ranges: [String] { values.withLock { $0 } }

        func note(in s3: ScriptedS3) {
            s3.spoil { _, request in
                if let range = request.headers["range"] {
                    self.values.withLock { $0.append(String(range.dropFirst("bytes=".count))) }
                }
                return nil
            }
        }
    }

    @LoopActor
    private static func read(
        _ content: any OpenContent, from start: Int = 0
    ) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while start + bytes.count < content.length {
            bytes += try await content.read(at: Int64(start + bytes.count), count: 100_000)
        }
        return bytes
    }

    @Test @LoopActor
    func `readers that take nothing hold no more than the room for all of them (R-7)`()
        async throws
    {
        // On a busy machine ten seconds pass between two readers.
        let bench = try await Bench(ScriptedS3()) { ($0.ahead, $0.idle) = (2 << 20, .seconds(600)) }
        let count = 2_500_000
        try await bench.put(count)
        let asked = Asked()
        asked.note(in: bench.s3)
        var readers: [any OpenContent] = []
        for _ in 0..<3 {
            let content = try await bench.store.openKnown(Self.content)
            #expect(try await content.read(at: 0, count: 1000) == Pattern.bytes(count: 1000))
            readers.append(content)
        }
        let ahead = ["0-1048575", "1048576-2097151"]
        try await eventually("what is ahead") { asked.ranges.count == 4 }
        #expect(asked.ranges.sorted() == (ahead + ["0-999", "0-999"]).sorted())
        // Without room, everybody reads what he takes.
        #expect(try await Self.read(readers[1]) == Pattern.bytes(count: count))
        #expect(try await Self.read(readers[0]) == Pattern.bytes(count: count))
        // There is room again where a reader has gone.
        readers.removeAll()
        let before = asked.ranges.count
        let content = try await bench.store.openKnown(Self.content)
        #expect(try await content.read(at: 0, count: 1000) == Pattern.bytes(count: 1000))
        try await eventually("what is ahead") { asked.ranges.count == before + 2 }
        #expect(asked.ranges[before...].sorted() == ahead)
    }

    @Test @LoopActor
    func `who takes nothing for a while gives his room to others, and reads on all the same (R-7)`()
        async throws
    {
        let bench = try await Bench(ScriptedS3()) { ($0.ahead, $0.idle) = (2 << 20, .zero) }
        let count = 2_500_000
        try await bench.put(count)
        let slow = try await bench.store.openKnown(Self.content)
        #expect(try await slow.read(at: 0, count: 1000) == Pattern.bytes(count: 1000))
        let windows = try #require(slow as? S3Content)
        try await eventually("what is ahead") { windows.windowCount == 2 }
        let quick = try await bench.store.openKnown(Self.content)
        #expect(try await Self.read(quick) == Pattern.bytes(count: count))
        #expect(windows.windowCount == 0)
        let rest = try await Self.read(slow, from: 1000)
        #expect(rest == Pattern.bytes(from: 1000, count: count - 1000))
    }

    @Test @LoopActor
    func `what could not be read ahead is asked for again when it is wanted`() async throws {
        let bench = try await Bench(ScriptedS3())
        let count = 2_500_000
        try await bench.put(count)
        let failures = Atomic(1)
        bench.s3.spoil { _, request in
            guard request.headers["range"]?.hasPrefix("bytes=1048576-") == true,
                failures.wrappingSubtract(1, ordering: .relaxed).oldValue > 0
            else { return nil }
            return .answer(403, "AccessDenied")
        }
        let content = try await bench.store.openKnown(Self.content)
        #expect(try await content.read(at: 0, count: 1000) == Pattern.bytes(count: 1000))
        let windows = try #require(content as? S3Content)
        try await eventually("it to fail") { windows.windowCount == 1 }
        let rest = try await Self.read(content, from: 1000)
        #expect(rest == Pattern.bytes(from: 1000, count: count - 1000))
    }

    @Test @LoopActor
    func `a stretch that is shorter by now is read as it is`() async throws {
        let bench = try await Bench(ScriptedS3())
        guard case .task(let task) = Self.task else { return }
        let bytes = Pattern.bytes(count: 40_960)
        try await bench.contents.put(Stretch(of: task, in: 5, 0..<40_960)) {
            bytes
        } while: {
            true
        }
        #expect(try await bench.contents.read(Stretch(of: task, in: 5, 0..<81_920)) == bytes)
    }
}
