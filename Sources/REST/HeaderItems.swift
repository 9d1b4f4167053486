extension [String] {
    /// The items of a field's values (RFC 9110 §5.6.1), the first ones only, and the short ones: no
    /// client has reason to send more, and anybody may, each of which takes time.
    ///
    /// - Parameters:
    ///   - separator: what is between two of them.
    ///   - limit: how many are looked at.
    ///   - size: the bytes of the longest that is looked at.
    /// - Returns: them, with the space around them.
    func items(
        separatedBy separator: UInt8 = UInt8(ascii: ","), limit: Int = 50, size: Int = 255
    ) -> [Substring] {
        var items: [Substring] = []
        for value in self {
            let room = limit - items.count
            guard room > 0 else { break }
            let found = value.utf8.split(separator: separator, maxSplits: room).prefix(room)
            for item in found where item.count <= size { items.append(Substring(item)) }
        }
        return items
    }
}
