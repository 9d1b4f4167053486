/// Header lines in the order of the wire, names as they were written, repeats kept.
public struct HeaderLines: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One line.
    public struct Line: Sendable, Equatable {
        /// The field name.
        public var name: String
        /// The value without the white space around it.
        public var value: String
    }

    /// All lines, first to last.
    public private(set) var lines: [Line] = []

    /// Makes an empty list.
    public init() {}

    /// Makes lines of a literal; repeated names are kept.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    /// Adds a line at the end.
    public mutating func append(_ name: String, _ value: String) {
        lines.append(Line(name: name, value: value))
    }

    /// These lines and then those of `others`.
    public func appending(_ others: HeaderLines) -> HeaderLines {
        var all = self
        all.lines += others.lines
        return all
    }

    /// The first value of a field; names are compared without case.
    public subscript(name: String) -> String? {
        lines.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Every value of a field, in order.
    public func values(of name: String) -> [String] {
        lines.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The lines as they go over the wire, each ended by CR LF.
    var wire: String {
        lines.map { "\($0.name): \($0.value)\r\n" }.joined()
    }

    /// Reads `name: value`; a line without a colon becomes a name with an empty value.
    mutating func append(line: Substring) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count > 1 ? parts[1] : ""
        let trimmed = value.drop { $0 == " " || $0 == "\t" }.reversed()
            .drop { $0 == " " || $0 == "\t" }.reversed()
        append(String(parts[0]), String(trimmed))
    }
}
