internal import Synchronization

/// A piece of memory aligned for O_DIRECT, filled on the loop and then written by a file thread.
///
/// Pages that are never filled are never resident: a large block costs what is in it.
public final class FileBlock: @unchecked Sendable {
    // Safe to share: who fills it, on whatever thread, gives it away whole, and from then on it is
    // only read, by the file thread and by followers on the loop; freed with its last owner.

    /// What O_DIRECT wants offsets, lengths and addresses to be multiples of.
    public static let alignment = 4096

    /// Bytes that fit; a multiple of `alignment`.
    public let capacity: Int
    /// Bytes that are in it, from the start.
    public private(set) var count = 0
    private let start: UnsafeMutableRawPointer

    /// - Precondition: `capacity` is a positive multiple of `alignment`.
    public init(capacity: Int) {
        precondition(capacity > 0 && capacity.isMultiple(of: FileBlock.alignment))
        self.capacity = capacity
        start =
            SpareBlocks.take(capacity)
            ?? .allocate(byteCount: capacity, alignment: FileBlock.alignment)
    }

    deinit {
        if !SpareBlocks.keep(start, capacity) { start.deallocate() }
    }

    /// Bytes that still fit.
    public var room: Int { capacity - count }

    /// Takes as many bytes as fit and returns how many those were.
    public func fill(from bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(room, bytes.count)
        if taken > 0, let source = bytes.baseAddress {
            (start + count).copyMemory(from: source, byteCount: taken)
            count += taken
        }
        return taken
    }

    /// Fills the block anew, from its start, with as many bytes as `read` returns: at most
    /// `capacity`.
    ///
    /// For a block that has come back to the one who fills it, and that nobody else holds.
    public func refill(_ read: (UnsafeMutableRawBufferPointer) throws -> Int) rethrows {
        count = 0
        count = try read(UnsafeMutableRawBufferPointer(start: start, count: capacity))
    }

    /// The filled part; valid while the block is.
    public func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// The filled part and zeros up to the next multiple of `alignment`.
    public func withPaddedBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        let padded = (count + FileBlock.alignment - 1) / FileBlock.alignment * FileBlock.alignment
        (start + count).initializeMemory(as: UInt8.self, repeating: 0, count: padded - count)
        return try body(UnsafeRawBufferPointer(start: start, count: padded))
    }
}

/// Memory of large blocks that is between two uses: fresh pages cost more than the copy into them.
private enum SpareBlocks {
    private static let capacity = 1 << 20
    private static let limit = 16
    private static let spare = Mutex<[UInt]>([])

    static func take(_ capacity: Int) -> UnsafeMutableRawPointer? {
        guard capacity == SpareBlocks.capacity else { return nil }
        return spare.withLock { $0.popLast() }.flatMap(UnsafeMutableRawPointer.init(bitPattern:))
    }

    /// - Returns: false where it is not kept, and the caller frees it.
    static func keep(_ start: UnsafeMutableRawPointer, _ capacity: Int) -> Bool {
        guard capacity == SpareBlocks.capacity else { return false }
        return spare.withLock { spare in
            guard spare.count < limit else { return false }
            spare.append(UInt(bitPattern: start))
            return true
        }
    }
}
