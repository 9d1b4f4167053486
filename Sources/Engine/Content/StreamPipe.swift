internal import DequeModule
internal import Loop
internal import Semantics

/// A body that nobody keeps, on its way from the origin to one reader (S-41, R-9).
///
/// At most `limit` bytes wait; then the pipe takes nothing until the reader has taken some.
@LoopActor
final class StreamPipe {
    private static let limit = 512 << 10
    /// The reader gets what has come meanwhile in pieces of this size: each costs it a system call.
    private static let chunkSize = 128 << 10

    /// Called when a pipe that refused bytes would take some.
    var onRoom: (@LoopActor () -> Void)?
    /// Called when the reader has left before the end.
    var onReaderGone: (@LoopActor () -> Void)?
    /// Called when the last byte has been taken after `end`.
    var onDrained: (@LoopActor () -> Void)?
    private(set) var hasReader = false

    private var chunks = Deque<[UInt8]>()
    private var waiting = 0
    private var hasRefused = false
    private var end: Result<Void, ContentFailure>?
    private var reader: CheckedContinuation<Void, Never>?

    /// Whether bytes would be taken; if not, `onRoom` is called when that changes.
    func hasRoom() -> Bool {
        hasRefused = waiting >= StreamPipe.limit
        return !hasRefused
    }

    /// Takes bytes, however many wait.
    func append(_ bytes: UnsafeRawBufferPointer) {
        if var last = chunks.last, last.count + bytes.count <= StreamPipe.chunkSize {
            // Taken out first, so that it is the only reference, and grows where it is.
            chunks.removeLast()
            last.append(contentsOf: bytes)
            chunks.append(last)
        } else {
            var chunk: [UInt8] = []
            chunk.reserveCapacity(max(StreamPipe.chunkSize, bytes.count))
            chunk.append(contentsOf: bytes)
            chunks.append(chunk)
        }
        waiting += bytes.count
        wakeReader()
    }

    /// Nothing more comes; the reader gets what is left.
    func finish(_ result: Result<Void, ContentFailure>) {
        guard end == nil else { return }
        end = result
        wakeReader()
    }

    /// Whether everything that came has been taken.
    var isDrained: Bool { chunks.isEmpty }

    /// Makes the caller the one reader.
    /// - Returns: false if there is or was one.
    func attachReader() -> Bool {
        guard !hasReader else { return false }
        hasReader = true
        return true
    }

    /// The next bytes, or nil at the end.
    func next() async throws(ContentFailure) -> [UInt8]? {
        while true {
            if let chunk = chunks.popFirst() {
                waiting -= chunk.count
                if hasRefused, waiting <= StreamPipe.limit / 2 {
                    hasRefused = false
                    onRoom?()
                }
                if chunks.isEmpty, end != nil { onDrained?() }
                return chunk
            }
            if let end {
                try end.get()
                return nil
            }
            await withCheckedContinuation { reader = $0 }
        }
    }

    /// The reader takes nothing more.
    func detachReader() {
        wakeReader()
        guard end == nil || !chunks.isEmpty else { return }
        chunks.removeAll()
        waiting = 0
        finish(.failure(.readerGone))
        onReaderGone?()
    }

    private func wakeReader() {
        reader?.resume()
        reader = nil
    }
}
