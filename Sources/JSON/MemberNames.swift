/// A string of the text that has been checked: its content without the quotes.
struct StringToken {
    var range: Range<Int>
    var isEscaped: Bool
    /// Whether the content is ASCII, escapes left aside.
    var isASCII: Bool
}

/// The member names of the objects that are open, innermost last: to find duplicates and to point.
///
/// Names are kept as places in the text, and compared as bytes of their UTF-8. Only names with
/// escapes are copied, decoded.
struct MemberNames: Sendable {
    private struct Name {
        var range: Range<Int>
        /// Whether the range is one of `decoded` rather than of the text.
        var isDecoded: Bool
        var isASCII: Bool
    }

    /// A name that finds its like in a set.
    private struct Key: Hashable {
        let bytes: ArraySlice<UInt8>

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    /// Up to so many names of one object are compared one by one, which is cheaper than to hash
    /// them.
    private static let comparedLimit = 32

    private var names: [Name] = []
    private var decoded: [UInt8] = []
    /// The names of the open objects that have more, innermost last; `first` is where they begin.
    private var sets: [(first: Int, keys: Set<Key>)] = []

    init() {
        names.reserveCapacity(16)
    }

    var count: Int { names.count }

    /// Adds a name to the object whose first name is at `first`. False when it was there before.
    mutating func insert(_ token: StringToken, in text: [UInt8], after first: Int) -> Bool {
        let name: Name
        if token.isEscaped {
            let start = decoded.count
            token.decode(from: text, to: &decoded)
            name = Name(range: start..<decoded.count, isDecoded: true, isASCII: false)
        } else {
            name = Name(range: token.range, isDecoded: false, isASCII: token.isASCII)
        }
        defer { names.append(name) }
        guard names.count - first >= MemberNames.comparedLimit else {
            for index in first..<names.count where isSame(names[index], name, in: text) {
                return false
            }
            return true
        }
        let key = key(name, in: text)
        if sets.last?.first != first {
            sets.append((first, Set(names[first...].map { self.key($0, in: text) })))
        }
        return sets[sets.count - 1].keys.insert(key).inserted
    }

    /// Forgets all names but the first `count`.
    mutating func leave(to count: Int) {
        guard count < names.count else { return }
        if !decoded.isEmpty, let first = names[count...].first(where: \.isDecoded) {
            decoded.removeLast(decoded.count - first.range.lowerBound)
        }
        while let last = sets.last, last.first >= count { sets.removeLast() }
        names.removeLast(names.count - count)
    }

    /// The text of the name at `index`.
    func text(at index: Int, in text: [UInt8]) -> String {
        let name = names[index]
        guard !name.isDecoded else {
            return String(checked: decoded, name.range, isASCII: name.isASCII)
        }
        return String(checked: text, name.range, isASCII: name.isASCII)
    }

    private func isSame(_ one: Name, _ other: Name, in text: [UInt8]) -> Bool {
        guard one.range.count == other.range.count else { return false }
        for offset in 0..<one.range.count
        where byte(of: one, offset, in: text) != byte(of: other, offset, in: text) {
            return false
        }
        return true
    }

    private func byte(of name: Name, _ offset: Int, in text: [UInt8]) -> UInt8 {
        let index = name.range.lowerBound + offset
        return name.isDecoded ? decoded[index] : text[index]
    }

    private func key(_ name: Name, in text: [UInt8]) -> Key {
        // A slice of `decoded` would share it, and have all of it copied by the next name that is
        // decoded.
        Key(bytes: name.isDecoded ? Array(decoded[name.range])[...] : text[name.range])
    }
}

extension String {
    /// The text of bytes that have been checked to be UTF-8.
    init(checked bytes: [UInt8], _ range: Range<Int>, isASCII: Bool) {
        let span = bytes.span.extracting(range)
        self.init(copying: UTF8Span(unchecked: span, isKnownASCII: isASCII))
    }
}
