internal import Syntax

/// Header fields in their order, repeats kept; names are compared without case.
public struct HeaderFields: Sendable, Sequence, ExpressibleByDictionaryLiteral {
    /// One field.
    public typealias Element = (name: String, value: String)

    private var fields: [Element]

    /// Makes fields of names and values, in order.
    public init(_ fields: [(name: String, value: String)] = []) {
        self.fields = fields
    }

    /// Makes fields of a literal, in order.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { (name: $0, value: $1) }
    }

    /// Whether there is no field.
    public var isEmpty: Bool { fields.isEmpty }

    /// The first value of the field `name`. Linear in the number of fields.
    public subscript(first name: String) -> String? {
        fields.first { HeaderFields.isSame($0.name, name) }?.value
    }

    /// Every value of the field `name`, in order.
    public func values(of name: String) -> [String] {
        fields.filter { HeaderFields.isSame($0.name, name) }.map(\.value)
    }

    /// Adds a field after all others, whether or not the name is there.
    public mutating func add(_ name: String, _ value: String) {
        fields.append((name: name, value: value))
    }

    /// Makes `value` the only value of `name`, in the place of its first one.
    public mutating func set(_ name: String, _ value: String) {
        guard let index = fields.firstIndex(where: { HeaderFields.isSame($0.name, name) }) else {
            return add(name, value)
        }
        fields[index].value = value
        let rest = fields[(index + 1)...].filter { !HeaderFields.isSame($0.name, name) }
        fields.replaceSubrange((index + 1)..., with: rest)
    }

    /// Takes every field `name` away.
    public mutating func remove(_ name: String) {
        fields.removeAll { HeaderFields.isSame($0.name, name) }
    }

    /// Adds all of `others` after these.
    public mutating func add(contentsOf others: HeaderFields) {
        if !others.isEmpty { fields += others.fields }
    }

    /// Goes through the fields in their order.
    public func makeIterator() -> IndexingIterator<[Element]> {
        fields.makeIterator()
    }

    /// Whether these are the very fields of `other`, and not only the same ones.
    @inline(__always)
    func isIdentical(to other: HeaderFields) -> Bool {
        fields.withUnsafeBufferPointer { first in
            other.fields.withUnsafeBufferPointer {
                first.baseAddress == $0.baseAddress && first.count == $0.count
            }
        }
    }

    private static func isSame(_ first: String, _ second: String) -> Bool {
        Octets.equalIgnoringCase(first.utf8, second.utf8)
    }
}
