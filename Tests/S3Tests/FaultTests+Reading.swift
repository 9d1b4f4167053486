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
