extension JSONReader.Kind {
    /// The kind of value that begins with `byte`; nil when none does.
    @inline(__always)
    init?(firstByte byte: UInt8) {
        switch byte {
        case UInt8(ascii: "{"): self = .object
        case UInt8(ascii: "["): self = .array
        case UInt8(ascii: "\""): self = .string
        case UInt8(ascii: "-"), 0x30...0x39: self = .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .bool
        case UInt8(ascii: "n"): self = .null
        default: return nil
        }
    }

    /// The kind with its article, to go into a sentence.
    var words: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .bool: "true or false"
        case .null: "null"
        }
    }
}

extension JSONReader {
    /// Skips white space (RFC 8259 §2) and returns the byte that follows, 0 at the end.
    @inline(__always)
    mutating func nextByte() -> UInt8 {
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            index += 1
        }
        return 0
    }

    /// Goes to the value that is due, which must be of `kind`.
    @inline(__always)
    mutating func begin(_ kind: Kind) throws(JSONError) {
        precondition(expectsValue, "a value was read twice")
        guard Kind(firstByte: nextByte()) == kind else { throw mismatch(kind) }
    }

    /// Goes into the object or array that is due.
    mutating func enter(_ kind: Kind) throws(JSONError) {
        try begin(kind)
        guard outerFrames.count < depthLimit else {
            throw malformed("must not have more than \(depthLimit) levels")
        }
        index += 1
        outerFrames.append(frame)
        frame = Frame(isArray: kind == .array, outerNames: names.count, valueOffset: index)
        expectsValue = false
    }

    /// Goes to the value of the next member, whose name is then the last of `names`.
    ///
    /// False at the end of the object, which has then been left.
    mutating func enterMember() throws(JSONError) -> Bool {
        guard try enterNext(closing: UInt8(ascii: "}")) else { return false }
        guard nextByte() == UInt8(ascii: "\"") else {
            throw malformed("must have a member's name in quotes here")
        }
        let token = try scanString()
        let isNew = names.insert(token, in: bytes, after: frame.outerNames)
        frame.count += 1
        guard isNew else {
            throw malformed("must not be there twice", at: token.range.lowerBound - 1)
        }
        guard nextByte() == UInt8(ascii: ":") else {
            throw malformed("must have ':' after the name")
        }
        index += 1
        _ = nextByte()
        frame.valueOffset = index
        expectsValue = true
        return true
    }

    /// Goes to the next element. False at the end of the array, which has then been left.
    mutating func enterElement() throws(JSONError) -> Bool {
        guard try enterNext(closing: UInt8(ascii: "]")) else { return false }
        _ = nextByte()
        frame.count += 1
        frame.valueOffset = index
        expectsValue = true
        return true
    }

    /// Takes the comma before all members and elements but the first; or the closing bracket.
    @inline(__always)
    private mutating func enterNext(closing bracket: UInt8) throws(JSONError) -> Bool {
        let byte = nextByte()
        if byte == bracket {
            index += 1
            names.leave(to: frame.outerNames)
            frame = outerFrames.removeLast()
            expectsValue = false
            return false
        }
        if frame.count > 0 {
            guard byte == UInt8(ascii: ",") else {
                throw malformed("must have ',' or '\(Unicode.Scalar(bracket))' here")
            }
            index += 1
        }
        return true
    }

    /// Takes a literal name (RFC 8259 §3) that is due.
    mutating func take(_ literal: StaticString) throws(JSONError) {
        let end = index + literal.utf8CodeUnitCount
        let isThere = literal.withUTF8Buffer { text in
            end <= bytes.count && bytes[index..<end].elementsEqual(text)
        }
        guard isThere else { throw malformed("must be spelled '\(literal)'") }
        index = end
        expectsValue = false
    }
}
