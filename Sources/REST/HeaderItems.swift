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
        let items = lazy.flatMap { $0.utf8.split(separator: separator, maxSplits: limit) }
        return items.prefix(limit).filter { $0.count <= size }.map { Substring($0) }
    }
}
