internal import Syntax

/// The directives of `Cache-Control`, of a request or a response (RFC 9111 §5.2).
///
/// Reads what origins send: a directive that is malformed is kept and marked, so that a restriction
/// still restricts and a lifetime that cannot be read is none. Unknown directives are kept and mean
/// nothing (§5.2.3).
public struct CacheControl: Hashable, Sendable {
    /// One directive.
    public struct Directive: Hashable, Sendable {
        /// In lower case: names compare without case.
        public let name: String
        /// What follows `=`, without the quotes of the quoted form; nil without `=`.
        public let argument: String?
        /// Whether something stands where the grammar has nothing, such as a blank before `=`.
        public let isMalformed: Bool
    }

    /// The value of a directive that takes `delta-seconds` (§1.2.2).
    public enum Seconds: Hashable, Sendable {
        case absent
        /// No number of seconds, or several that differ: §4.2.1 has the response stale then.
        case invalid
        /// 0…2³¹.
        case value(Int64)

        /// The number; nil where there is none that can be used.
        public var number: Int64? {
            if case .value(let number) = self { number } else { nil }
        }
    }

    /// All of them, in their order.
    public let directives: [Directive]

    /// The directives of all `Cache-Control` fields of a message; of none where it has no such
    /// field, and `no-store` for fields of more than 8 KiB.
    public init(of headers: HeaderList) {
        let values = headers.values(of: "Cache-Control")
        guard !values.isEmpty else {
            directives = []
            return
        }
        let text = values.joined(separator: ",")
        guard text.utf8.count <= FieldSyntax.byteLimit else {
            directives = [Directive(name: "no-store", argument: nil, isMalformed: false)]
            return
        }
        var reader = Reader(rest: text.utf8[...])
        var directives: [Directive] = []
        while let directive = reader.next() { directives.append(directive) }
        self.directives = directives
    }

    /// Whether a directive is there, with or without an argument, malformed or not.
    ///
    /// - Parameter name: in lower case.
    /// - Returns: whether it is.
    public func has(_ name: String) -> Bool { directives.contains { $0.name == name } }

    /// The value of a directive that takes seconds, in the token or the quoted form (§5.2).
    ///
    /// - Parameter name: in lower case.
    /// - Returns: the number that all of its occurrences agree on, or why there is none.
    public func seconds(_ name: String) -> Seconds {
        let found = directives.filter { $0.name == name }
        guard let first = found.first else { return .absent }
        guard found.allSatisfy({ !$0.isMalformed && $0.argument == first.argument }),
            let number = first.argument.flatMap({ DeltaSeconds.parse($0) })
        else { return .invalid }
        return .value(number)
    }

    /// Whether the directive stands without a list of field names, and so is about the whole
    /// response.
    ///
    /// For `no-cache` and `private`. A list that cannot be read is about the whole.
    ///
    /// - Parameter name: in lower case.
    /// - Returns: whether it stands so at least once.
    public func isUnqualified(_ name: String) -> Bool {
        directives.contains { $0.name == name && Self.fieldNames(of: $0).isEmpty }
    }

    /// The names of fields, in lower case, that the qualified form of a directive lists (§5.2.2.4).
    ///
    /// - Parameter name: in lower case.
    /// - Returns: the names in their order; none without the directive, or without a list.
    public func fieldNames(_ name: String) -> [String] {
        directives.filter { $0.name == name }.flatMap(Self.fieldNames)
    }

    private static func fieldNames(of directive: Directive) -> [String] {
        guard !directive.isMalformed, let argument = directive.argument else { return [] }
        let names = argument.split(separator: ",").map { $0.trimmingFieldSpace.asciiLowercased }
            .filter { !$0.isEmpty }
        return names.allSatisfy(FieldSyntax.isToken) ? names : []
    }

    private struct Reader {
        var rest: Substring.UTF8View

        mutating func next() -> Directive? {
            while let byte = rest.first, byte == UInt8(ascii: ",") || Octets.isWhitespace(byte) {
                rest.removeFirst()
            }
            guard !rest.isEmpty else { return nil }
            let name = take(while: Octets.isToken).asciiLowercased
            let hasBlankBefore = !take(while: Octets.isWhitespace).isEmpty
            guard rest.first == UInt8(ascii: "=") else {
                let hasMore = !skipToComma()
                return Directive(
                    name: name, argument: nil, isMalformed: name.isEmpty || hasMore)
            }
            rest.removeFirst()
            let isQuoted = rest.first == UInt8(ascii: "\"")
            let argument: String? =
                isQuoted
                ? FieldSyntax.takeQuoted(from: &rest)
                : String(take { $0 != UInt8(ascii: ",") }.trimmingFieldSpace)
            let hasMore = !skipToComma()
            return Directive(
                name: name, argument: argument ?? "",
                isMalformed: name.isEmpty || hasBlankBefore || argument == nil || hasMore)
        }

        private mutating func take(while isWanted: (UInt8) -> Bool) -> String {
            let taken = rest.prefix(while: isWanted)
            rest = rest[taken.endIndex...]
            return String(Substring(taken))
        }

        /// True where there was only white space before the comma or the end.
        private mutating func skipToComma() -> Bool {
            var isClean = true
            while let byte = rest.first, byte != UInt8(ascii: ",") {
                if byte == UInt8(ascii: "\"") {
                    _ = FieldSyntax.takeQuoted(from: &rest)
                    isClean = false
                } else {
                    isClean = isClean && Octets.isWhitespace(byte)
                    rest.removeFirst()
                }
            }
            return isClean
        }
    }
}

/// `delta-seconds` (RFC 9111 §1.2.2).
enum DeltaSeconds {
    /// What greater numbers count as.
    static let most: Int64 = 2_147_483_648

    /// `1*DIGIT`; nil for anything else.
    static func parse(_ text: some StringProtocol) -> Int64? {
        guard FieldSyntax.isDigits(text) else { return nil }
        return min(Int64(text) ?? most, most)
    }
}
