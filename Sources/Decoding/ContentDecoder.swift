public import Semantics

/// Takes the content codings off a content as it comes (RFC 9110 §8.4): step by step, so that a
/// content that expands without bounds costs bounded memory, and bounded time before somebody else
/// gets a turn.
///
/// The content is whole or a fault: every layer has to come to its own end with its own checksum,
/// and nothing may come behind it. No bytes at all are an empty content.
public final class ContentDecoder {
    /// The most bytes that a step decodes.
    public static let pieceLimit = 64 << 10
    /// The same between two layers.
    private static let innerLimit = 16 << 10

    private let layers: [ContentCoding.Layer]
    private let decoders: [any LayerDecoder]
    /// What each of them has made, and nobody has taken yet.
    private let rooms: [Room]
    /// Which of them may have more to say without further input.
    private var mayHaveMore: [Bool]

    /// A decoder of a content with these codings, at least one, in the order in which they were put
    /// on.
    public init(_ codings: [ContentCoding.Layer]) {
        precondition(!codings.isEmpty, "a content without a coding is not decoded")
        layers = codings.reversed()
        decoders = layers.map { $0.makeDecoder() }
        rooms = layers.indices.map { index in
            Room(index == codings.count - 1 ? Self.pieceLimit : Self.innerLimit)
        }
        mayHaveMore = layers.map { _ in false }
    }

    /// What is decoded and was not taken yet. Valid until it is taken.
    public var piece: UnsafeRawBufferPointer { rooms[rooms.count - 1].content }

    /// Takes bytes from the front of `piece`.
    public func take(_ count: Int) { rooms[rooms.count - 1].take(count) }

    /// Whether there is something to do, or to take, without further input.
    public var hasMore: Bool { mayHaveMore.contains(true) || rooms.contains { !$0.isEmpty } }

    /// Goes one step on, if `piece` is empty: one call of one layer, with what it was given or has
    /// kept.
    ///
    /// - Parameter input: coded bytes, which are taken from its front.
    /// - Returns: false where all is decoded that can be without further input; true where there
    ///   may be more to do, or `piece` is to be taken first.
    /// - Throws: for a content that is damaged; it is of no use afterwards.
    public func step(_ input: inout UnsafeRawBufferPointer) throws(DecodingFault) -> Bool {
        for index in layers.indices.reversed() where rooms[index].isEmpty {
            if index == 0 {
                guard !input.isEmpty || mayHaveMore[0] else { continue }
                try run(0, &input)
            } else {
                var inner = rooms[index - 1].content
                guard !inner.isEmpty || mayHaveMore[index] else { continue }
                let count = inner.count
                try run(index, &inner)
                rooms[index - 1].take(count - inner.count)
            }
            return true
        }
        return !piece.isEmpty
    }

    private func run(_ index: Int, _ input: inout UnsafeRawBufferPointer) throws(DecodingFault) {
        let room = rooms[index]
        let given = input.count
        let made = try decoders[index].decode(&input, into: room.bytes)
        guard made > 0 || input.count < given || given == 0 else {
            throw .damaged(layers[index], words: "it does not go on")
        }
        room.put(made)
        mayHaveMore[index] = made == room.bytes.count
    }

    /// The coded bytes have come to their end, and all that was decoded is taken.
    /// - Throws: where a layer has not come to its own end.
    public func finish() throws(DecodingFault) {
        for (layer, decoder) in zip(layers, decoders) where !decoder.isWhole {
            throw .unfinished(layer)
        }
    }
}

/// Bytes on their way from one layer to the next.
private final class Room {
    let bytes: UnsafeMutableRawBufferPointer
    private var range = 0..<0

    init(_ byteCount: Int) {
        bytes = .allocate(byteCount: byteCount, alignment: 1)
    }

    deinit {
        bytes.deallocate()
    }

    var isEmpty: Bool { range.isEmpty }

    var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[range]) }

    func put(_ count: Int) { range = 0..<count }

    func take(_ count: Int) { range = range.lowerBound + count..<range.upperBound }
}
