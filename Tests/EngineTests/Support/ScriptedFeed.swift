import Engine
import Loop
import TestSupport

/// The bytes of a request that come when its test sends them.
@LoopActor
final class ScriptedFeed {
    /// The client has gone before the end.
    struct Cut: Error {}
    /// The gateway wants no more.
    struct Interrupted: Error {}

    private var pieces: [[UInt8]] = []
    private var end: (any Error)??
    private var waiting: CheckedContinuation<Void, Never>?
    private(set) var isInterrupted = false
    /// Bytes that the gateway has asked for.
    private(set) var takenCount = 0

    /// A feed that has all its bytes, and ends with them.
    static func of(_ bytes: [UInt8], pieces: Int = 64 << 10) -> ByteFeed {
        let feed = ScriptedFeed()
        feed.send(bytes, pieces: pieces)
        feed.finish()
        return feed.feed
    }

    func send(_ bytes: [UInt8], pieces size: Int = 64 << 10) {
        for start in stride(from: 0, to: bytes.count, by: size) {
            pieces.append(Array(bytes[start..<min(bytes.count, start + size)]))
        }
        wake()
    }

    /// Nothing follows; with an error, the rest never comes.
    func finish(_ error: (any Error)? = nil) {
        end = .some(error)
        wake()
    }

    var feed: ByteFeed {
        ByteFeed(
            next: { try await self.next() },
            interrupt: {
                self.isInterrupted = true
                self.wake()
            })
    }

    private func next() async throws -> [UInt8]? {
        while true {
            if isInterrupted { throw Interrupted() }
            if !pieces.isEmpty {
                let piece = pieces.removeFirst()
                takenCount += piece.count
                return piece
            }
            if case .some(let error) = end {
                if let error { throw error }
                return nil
            }
            await withCheckedContinuation { waiting = $0 }
        }
    }

    private func wake() {
        waiting?.resume()
        waiting = nil
    }
}
