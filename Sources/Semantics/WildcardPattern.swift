/// Bytes in which an asterisk stands for any others, such as `*.example.*`.
///
/// Clients write patterns and the names that they are compared with, and comparing happens on the
/// loop for every attempt. So nothing is allocated, and time is linear in the length of both
/// (Knuth, Morris and Pratt).
struct WildcardPattern: Hashable, Sendable {
    /// What stands between the asterisks: one piece is the whole name.
    private let pieces: [Piece]

    private struct Piece: Hashable, Sendable {
        let bytes: [UInt8]
        /// Of each beginning of the piece, the length of the longest shorter text that it begins
        /// and ends with.
        let borders: [Int]

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            var borders = [Int](repeating: 0, count: bytes.count)
            var length = 0
            for index in bytes.indices.dropFirst() {
                while length > 0, bytes[index] != bytes[length] { length = borders[length - 1] }
                if bytes[index] == bytes[length] { length += 1 }
                borders[index] = length
            }
            self.borders = borders
        }

        /// Where the piece ends at its first place; nil where it has none.
        func end<Name: RandomAccessCollection<UInt8>>(
            in name: Name, _ range: Range<Int>
        ) -> Int? where Name.Index == Int {
            if bytes.isEmpty { return range.lowerBound }
            var length = 0
            for index in range {
                let byte = name[index]
                while length > 0, byte != bytes[length] { length = borders[length - 1] }
                if byte == bytes[length] { length += 1 }
                if length == bytes.count { return index + 1 }
            }
            return nil
        }
    }

    init(_ text: some StringProtocol) {
        pieces = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
            .map { Piece(Array($0)) }
    }

    /// Whether it is the pattern of the whole name, whose first index is 0. Looks at each byte of
    /// the name once at most.
    ///
    /// The first piece is at the start, the last one at the end, the others in between, each at its
    /// first place.
    func matches<Name: RandomAccessCollection<UInt8>>(_ name: Name) -> Bool
    where Name.Index == Int {
        guard let first = pieces.first?.bytes, let last = pieces.last?.bytes else { return false }
        if pieces.count == 1 { return name.count == first.count && name.elementsEqual(first) }
        let end = name.count - last.count
        guard first.count <= end, name[end...].elementsEqual(last),
            name[..<first.count].elementsEqual(first)
        else { return false }
        var start = first.count
        for piece in pieces.dropFirst().dropLast() {
            guard let next = piece.end(in: name, start..<end) else { return false }
            start = next
        }
        return true
    }
}
