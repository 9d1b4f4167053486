internal import DequeModule
internal import Engine
internal import Files
internal import Glibc
internal import Loop

/// An object that is open: what is read in order is read ahead, 2 MiB at most, as long as there is
/// room for it.
@LoopActor
final class S3Content: OpenContent {
    let length: Int64
    private let key: String
    private let etag: String
    private let objects: S3Objects
    private let ahead: S3ReadAhead
    private let onClose: @Sendable () -> Void
    /// What has come and was not given away, or is on its way.
    private var windows: [Window] = []
    /// Where the last read ended: the next one in order begins there.
    private var end: Int64 = -1
    private var wishes = Deque<Wish>()
    private var isServing = false
    /// Bytes that are asked for at a time.
    static let windowLength: Int64 = 1 << 20

    /// Bytes that were asked for.
    @LoopActor
    final class Window {
        let range: Range<Int64>
        nonisolated fileprivate let bytes: Task<[UInt8], any Error>
        fileprivate weak var content: S3Content?
        /// What came; nil while it is on its way.
        fileprivate(set) var arrived: [UInt8]?
        /// When it came, or was last read.
        fileprivate(set) var usedAt: Duration

        fileprivate init(
            _ range: Range<Int64>, of content: S3Content, _ bytes: Task<[UInt8], any Error>
        ) {
            self.range = range
            self.content = content
            self.bytes = bytes
            usedAt = content.clock.uptime
        }

        /// Gives its room away; its reader asks for the bytes again.
        func drop() { content?.windows.removeAll { $0 === self } }
    }

    private struct Wish {
        let block: FileBlock
        let offset: Int64
        let count: Int
        let completion: @LoopActor (Result<Void, any Error>) -> Void
    }

    init(
        _ key: String, _ head: S3Objects.Head, of objects: S3Objects, ahead: S3ReadAhead,
        onClose: @escaping @Sendable () -> Void
    ) {
        self.key = key
        length = head.length
        etag = head.etag
        self.objects = objects
        self.ahead = ahead
        self.onClose = onClose
    }

    deinit { onClose() }

    private var clock: any Clock { ahead.clock }

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
            guard let window = window(at: start) else {
                bytes += try await fetch(start..<stop)
                break
            }
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
        wishes.append(Wish(block: block, offset: offset, count: count, completion: completion))
        guard !isServing else { return }
        isServing = true
        LoopActor.start { [self] in await serve() }
    }

    /// Fills the blocks in the order in which they were asked for.
    private func serve() async {
        while let wish = wishes.first {
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
            wishes.removeFirst()
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
        window.usedAt = clock.uptime
        let count = min(buffer.count, bytes.count - from)
        bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[from..<from + count])) }
        end = offset + Int64(count)
        lookAhead(from: end)
        return count
    }

    // MARK: Windows

    /// How many there are; for tests.
    var windowCount: Int { windows.count }

    /// The window that has a byte, or is asked for it now; nil where there is no room for one.
    private func window(at offset: Int64) -> Window? {
        if let window = windows.first(where: { $0.range.contains(offset) }) { return window }
        guard ahead.makeRoom() else { return nil }
        let range = offset..<min(length, offset + Self.windowLength)
        let bytes = LoopActor.start { [objects, key, etag] in
            try await S3Content.fetch(range, of: key, etag, from: objects)
        }
        let window = Window(range, of: self, bytes)
        windows.append(window)
        ahead.note(window)
        LoopActor.start { [weak window, clock] in
            do {
                let arrived = try await bytes.value
                window?.arrived = arrived
                window?.usedAt = clock.uptime
            } catch {
                // Who waits for it hears of it; who comes later asks again.
                window?.drop()
            }
        }
        return window
    }

    private func arrival(of window: Window) async throws -> [UInt8] {
        do {
            defer { window.usedAt = clock.uptime }
            return try await withTaskCancellationHandler {
                try await window.bytes.value
            } onCancel: {
                window.bytes.cancel()
            }
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

/// The room for what all readers together have read ahead: who takes nothing for a while gives his
/// to others, and where there is none at all, each asks only for what he takes.
@LoopActor
final class S3ReadAhead {
    private struct Entry {
        weak var window: S3Content.Window?
    }

    private var entries: [Entry] = []
    private let limit: Int
    private let idle: Duration
    /// Tells when windows were used.
    fileprivate let clock: any Clock

    /// - Parameters:
    ///   - room: in bytes.
    ///   - idle: how long what came lies before others may have its room.
    ///   - clock: tells how long that is.
    init(room: Int, idle: Duration, clock: any Clock) {
        limit = room / Int(S3Content.windowLength)
        self.idle = idle
        self.clock = clock
    }

    /// Whether there is room for one more window.
    func makeRoom() -> Bool {
        guard entries.count >= limit else { return true }
        entries.removeAll { $0.window == nil }
        guard entries.count >= limit else { return true }
        let came = entries.compactMap(\.window).filter { $0.arrived != nil }
        guard let oldest = came.min(by: { $0.usedAt < $1.usedAt }),
            clock.uptime - oldest.usedAt >= idle
        else { return false }
        oldest.drop()
        entries.removeAll { $0.window == nil || $0.window === oldest }
        return true
    }

    /// A window has taken its room, until it is let go of.
    func note(_ window: S3Content.Window) { entries.append(Entry(window: window)) }
}
