/// One header field.
public struct HeaderField: Hashable, Sendable {
    /// As it was written; compares without case (RFC 9110 §5.1).
    public var name: String
    /// Without the white space around it.
    public var value: String

    /// A field from its parts.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Header fields in their order. Names may repeat, and compare without case.
///
/// A look-up costs one pass: lists are short, and their order matters. What is done for every name
/// of a list uses `byName`.
public struct HeaderList: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    /// The fields in their order.
    public private(set) var fields: [HeaderField]

    /// A list of these fields.
    public init(_ fields: [HeaderField] = []) { self.fields = fields }

    /// A list in the order of the literal; names may repeat.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.fields = elements.map { HeaderField($0, $1) }
    }

    /// Whether there is no field.
    public var isEmpty: Bool { fields.isEmpty }

    /// How many fields there are.
    public var count: Int { fields.count }

    /// Bytes of all names and values, without what the wire puts between them.
    public var byteCount: Int {
        fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }

    /// The value of the first field of this name.
    public func first(_ name: String) -> String? { index(of: name).map { fields[$0].value } }

    // By index: an element of a loop would be copied.
    private func index(of name: String) -> Int? {
        fields.indices.first { fields[$0].name.equalsIgnoringCase(name) }
    }

    /// The values of all fields of this name, in their order.
    public func values(of name: String) -> [String] {
        var values: [String] = []
        for index in fields.indices where fields[index].name.equalsIgnoringCase(name) {
            values.append(fields[index].value)
        }
        return values
    }

    /// Every name once, in the order and the case of letters in which it came first, with all its
    /// values in their order.
    public var byName: [(name: String, values: [String])] {
        var groups: [(name: String, values: [String])] = []
        groups.reserveCapacity(fields.count)
        var places: [String: Int] = [:]
        for field in fields {
            let key = field.name.asciiLowercased
            if let place = places[key] {
                groups[place].values.append(field.value)
            } else {
                places[key] = groups.count
                groups.append((field.name, [field.value]))
            }
        }
        return groups
    }

    /// Whether there is a field of this name.
    public func contains(_ name: String) -> Bool { index(of: name) != nil }

    /// Puts a field at the end.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(HeaderField(name, value))
    }

    /// The list without the fields of these names.
    public func removing(_ names: some Sequence<String>) -> HeaderList {
        guard !isEmpty else { return self }
        let names = Set(names.map(\.asciiLowercased))
        return HeaderList(fields.filter { !names.contains($0.name.asciiLowercased) })
    }

    /// The list, and behind it every additional field whose name it does not have.
    ///
    /// S-20: how `httpAdditionalHeaders` join a request; the request's own fields win.
    public func merging(additional: HeaderList) -> HeaderList {
        guard !additional.isEmpty else { return self }
        let own = Set(fields.map(\.name.asciiLowercased))
        return HeaderList(
            fields + additional.fields.filter { !own.contains($0.name.asciiLowercased) })
    }
}
