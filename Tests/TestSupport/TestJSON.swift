import Foundation

/// A JSON value for writing requests as literals and for reading answers without fuss.
///
/// A member or element that is not there reads as `.null`, so that a chain of subscripts never
/// traps.
public enum TestJSON: Sendable, Equatable {
    /// `null`, or what is missing.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction that fits an `Int`.
    case int(Int)
    /// Any other number.
    case double(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([TestJSON])
    /// An object.
    case object([String: TestJSON])

    /// Reads one JSON text.
    ///
    /// - Throws: Foundation's error of text that is no JSON.
    public init(parsing text: some Collection<UInt8>) throws {
        // Not by `Decodable`: it finds out what a value is by errors, and Swift Testing records the
        // call stack of each error that is thrown, which took a third of the Gateway tests' time.
        self.init(try JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed))
    }

    /// What Foundation has read.
    private init(_ value: Any) {
        switch value {
        case let members as [String: Any]: self = .object(members.mapValues(TestJSON.init))
        case let elements as [Any]: self = .array(elements.map(TestJSON.init))
        case let text as String: self = .string(text)
        case let number as NSNumber:
            // Numbers are of no type that is `char`.
            if String(cString: number.objCType) == "c" {
                self = .bool(number.boolValue)
            } else if let whole = Int(exactly: number) {
                self = .int(whole)
            } else {
                self = .double(number.doubleValue)
            }
        default: self = .null
        }
    }

    /// Reads one JSON text.
    public init(parsing text: String) throws {
        try self.init(parsing: Array(text.utf8))
    }

    /// The value as JSON text with sorted members.
    public func text() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try [UInt8](encoder.encode(self))
    }

    /// A member of an object.
    public subscript(name: String) -> TestJSON { object?[name] ?? .null }

    /// An element of an array.
    public subscript(index: Int) -> TestJSON {
        guard let array, array.indices.contains(index) else { return .null }
        return array[index]
    }

    /// Whether it is `null` or missing.
    public var isNull: Bool { self == .null }

    /// The string, if it is one.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The Boolean, if it is one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The whole number, if it is one.
    public var int: Int? { if case .int(let value) = self { value } else { nil } }

    /// The number, whole or not.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The elements, if it is an array.
    public var array: [TestJSON]? { if case .array(let value) = self { value } else { nil } }

    /// The members, if it is an object.
    public var object: [String: TestJSON]? {
        if case .object(let value) = self { value } else { nil }
    }
}

extension TestJSON: Encodable {
    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension TestJSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `nil` is JSON's null.
    public init(nilLiteral: ()) { self = .null }
    /// A Boolean literal.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number literal.
    public init(integerLiteral value: Int) { self = .int(value) }
    /// A number literal with a fraction.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A string literal.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array literal.
    public init(arrayLiteral elements: TestJSON...) { self = .array(elements) }
    /// An object literal; of repeated names the last counts.
    public init(dictionaryLiteral elements: (String, TestJSON)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
