/// Any JSON value as a tree, for texts whose shape is not known and for tests.
///
/// Two values are equal when they are spelled alike: members in the same order, numbers digit by
/// digit.
public enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    /// A number as it is spelled in the text, so that nothing of it is lost.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// The members in the order of the text; no name twice.
    case object([Member])

    /// A member of an object.
    public struct Member: Equatable, Sendable {
        /// The name, decoded.
        public let name: String
        /// The value.
        public let value: JSONValue

        /// A member of that name and value.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The value of a whole text.
    ///
    /// - Throws: `malformed`.
    public init(
        parsing bytes: [UInt8], limits: JSONReader.Limits = JSONReader.Limits()
    ) throws(JSONError) {
        self = try JSONReader.read(bytes, limits: limits) { reader throws(JSONError) in
            try reader.value()
        }
    }
}

extension JSONReader {
    /// Reads a value of any kind as a tree.
    ///
    /// - Throws: `malformed`.
    public mutating func value() throws(JSONError) -> JSONValue {
        switch try peekKind() {
        case .object:
            var members: [JSONValue.Member] = []
            try object { reader, name throws(JSONError) in
                members.append(JSONValue.Member(name: name, value: try reader.value()))
            }
            return .object(members)
        case .array:
            var elements: [JSONValue] = []
            try array { reader throws(JSONError) in elements.append(try reader.value()) }
            return .array(elements)
        case .string: return .string(try string())
        case .number: return .number(try numberText())
        case .bool: return .bool(try bool())
        case .null:
            _ = try takeNull()
            return .null
        }
    }
}

// MARK: - Looking into a tree

extension JSONValue {
    /// The member of that name; nil when there is none, or this is no object. Takes linear time.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// The element at that index; nil when there is none, or this is no array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The string, if it is one.
    public var string: String? {
        guard case .string(let string) = self else { return nil }
        return string
    }

    /// The number, if it is a whole one in range, as `JSONReader.int64(in:)` reads it.
    public var int64: Int64? {
        guard case .number(let text) = self else { return nil }
        return Array(text.utf8).withUnsafeBufferPointer { text in
            NumberToken(in: text, from: 0)?.int64(in: text)
        }
    }

    /// The number, if it is one and within the finite ones of `Double`.
    public var double: Double? {
        guard case .number(let text) = self else { return nil }
        return Array(text.utf8).withUnsafeBufferPointer { text in
            NumberToken(in: text, from: 0)?.double(in: text)
        }
    }

    /// `true` or `false`, if it is one of them.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, if it is an array.
    public var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members in their order, if it is an object.
    public var object: [Member]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// Whether it is `null`.
    public var isNull: Bool { self == .null }
}

extension JSONValue: JSONWritable {
    /// Writes the value. A number must be spelled as JSON spells numbers.
    public func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.null()
        case .bool(let value): json.bool(value)
        case .number(let text): json.raw(Array(text.utf8))
        case .string(let text): json.string(text)
        case .array(let elements): elements.write(to: &json)
        case .object(let members):
            json.object { json in
                for member in members { json.member(named: member.name, member.value) }
            }
        }
    }
}
