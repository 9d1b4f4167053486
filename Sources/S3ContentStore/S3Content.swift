internal import Engine
internal import Glibc
internal import Loop

/// An object that is open: what is read in order is read ahead, 2 MiB at most.
@LoopActor
final class S3Content: OpenContent {
    let length: Int64
    private let key: String
    private let etag: String
    private let objects: S3Objects
    private let onClose: @Sendable () -> Void
    /// What has come and was not given away, or is on its way.
    private var windows: [Window] = []
    /// Where the last read ended: the next one in order begins there.
    private var end: Int64 = -1
    private var line: [Wish] = []
    private var isServing = false
    /// Bytes that are asked for at a time.
    private static let windowLength: Int64 = 1 << 20

    /// Bytes that were asked for.
    private final class Window {
        let range: Range<Int64>
        let bytes: Task<[UInt8], any Error>
        /// What came; nil while it is on its way.
        var arrived: [UInt8]?

        init(_ range: Range<Int64>, _ bytes: Task<[UInt8], any Error>) {
            self.range = range
            self.bytes = bytes
        }
    }

    private struct Wish {
        let block: FileBlock
        let offset: Int64
        let count: Int
        let completion: @LoopActor (Result<Void, any Error>) -> Void
    }

    init(
        _ key: String, _ head: S3Objects.Head, of objects: S3Objects,
        onClose: @escaping @Sendable () -> Void
    ) {
        self.key = key
        length = head.length
        etag = head.etag
        self.objects = objects
        self.onClose = onClose
    }

    deinit { onClose() }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        let stop = min(length, offset + Int64(count))
        guard offset < stop else { return [] }
        let follows = offset == end
        end = stop
        if stop - offset > Self.windowLength {
            // A great piece is for one who wants no more.
            return try await fetch(offset..<stop)
        }
        if !follows, !windows.contains(where: { $0.range.contains(offset) }) {
            // Elsewhere: only from the first byte on is it likely to go on.
            windows = []
            if offset > 0 { return try await fetch(offset..<stop) }
        }
        var bytes: [UInt8] = []
        var start = offset
        while start < stop {
            let window = window(at: start)
            let arrived = try await arrival(of: window)
            let from = Int(start - window.range.lowerBound)
            let piece = arrived[from..<min(arrived.count, from + Int(stop - start))]
            bytes += piece
            start += Int64(piece.count)
        }
        lookAhead(from: stop)
        return bytes
    }

    func read(
        into block: FileBlock, at offset: Int64, count: Int,
        then completion: @escaping @LoopActor (Result<Void, any Error>) -> Void
    ) {
        line.append(Wish(block: block, offset: offset, count: count, completion: completion))
        guard !isServing else { return }
        isServing = true
        LoopActor.start { [self] in await serve() }
    }

    /// Fills the blocks in the order in which they were asked for.
    private func serve() async {
        while let wish = line.first {
            let result: Result<Void, any Error>
            do {
                let bytes = try await read(at: wish.offset, count: wish.count)
                wish.block.refill { buffer in
                    bytes.withUnsafeBytes { buffer.copyMemory(from: $0) }
                    return bytes.count
                }
                guard bytes.count == wish.count else { throw FileError("GetObject", code: 0) }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            line.removeFirst()
            wish.completion(result)
        }
        isServing = false
    }

    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        guard
            let window = windows.first(where: { $0.range.contains(offset) }),
            let bytes = window.arrived
        else { return nil }
        let from = Int(offset - window.range.lowerBound)
        let count = min(buffer.count, bytes.count - from)
        bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[from..<from + count])) }
        end = offset + Int64(count)
        lookAhead(from: end)
        return count
    }

    // MARK: Windows

    /// The window that has a byte, or is asked for it now.
    private func window(at offset: Int64) -> Window {
        if let window = windows.first(where: { $0.range.contains(offset) }) { return window }
        let range = offset..<min(length, offset + Self.windowLength)
        let bytes = LoopActor.start { [objects, key, etag] in
            try await S3Content.fetch(range, of: key, etag, from: objects)
        }
        let window = Window(range, bytes)
        windows.append(window)
        LoopActor.start { [weak window] in
            let arrived = try? await bytes.value
            window?.arrived = arrived
        }
        return window
    }

    private func arrival(of window: Window) async throws -> [UInt8] {
        do {
            return try await window.bytes.value
        } catch {
            windows.removeAll { $0 === window }
            throw error
        }
    }

    /// Lets go of what lies before the reader, and asks for what it will want next.
    private func lookAhead(from offset: Int64) {
        windows.removeAll { $0.range.upperBound <= offset }
        guard offset < length, windows.count < 2 else { return }
        let next = windows.map(\.range.upperBound).max() ?? offset
        if next < length { _ = window(at: next) }
    }

    private func fetch(_ range: Range<Int64>) async throws -> [UInt8] {
        try await Self.fetch(range, of: key, etag, from: objects)
    }

    private static func fetch(
        _ range: Range<Int64>, of key: String, _ etag: String, from objects: S3Objects
    ) async throws -> [UInt8] {
        do throws(S3Failure) {
            return try await objects.read(
                key, etag, from: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
        } catch {
            throw error.fileError
        }
    }
}
