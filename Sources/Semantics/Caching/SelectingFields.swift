/// The request header fields that a response was selected by: those that its `Vary` names, with the
/// values that the request had (RFC 9111 §4.1).
///
/// Values are kept normalised, so that equal ones mean the same: fields that repeat are one list,
/// blanks around commas are gone, and in the fields that negotiate content the order and the case
/// of the list do not matter (RFC 9110 §12.5).
public struct SelectingFields: Hashable, Sendable {
    /// One field.
    public struct Field: Hashable, Sendable {
        /// In lower case.
        public let name: String
        /// Normalised; nil where the request had no such field, which only its absence matches.
        public let value: String?

        /// A field that was kept before.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// In the order of their names, each name once.
    public let fields: [Field]

    /// Fields that were kept before.
    public init(stored fields: [Field]) { self.fields = fields }

    /// What a response's `Vary` selects of a request; nil for `*`, which no request matches.
    ///
    /// - Parameters:
    ///   - response: the response's header fields.
    ///   - request: the request's, as they were sent, with those that the gateway added.
    public init?(vary response: HeaderList, of request: HeaderList) {
        let values = response.values(of: "Vary")
        // What is too long to be read could name anything.
        guard values.reduce(0, { $0 + $1.utf8.count }) <= FieldSyntax.byteLimit else { return nil }
        let names = values.flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
            .map { Substring($0).trimmingFieldSpace.asciiLowercased }.filter { !$0.isEmpty }
        guard !names.contains("*") else { return nil }
        let sent = names.isEmpty ? [:] : Self.values(of: request)
        self.fields = Set(names).sorted().map {
            Field(name: $0, value: Self.normalised($0, sent[$0]))
        }
    }

    /// Whether another request has the same values.
    public func match(_ request: HeaderList) -> Bool {
        let sent = fields.isEmpty ? [:] : Self.values(of: request)
        return fields.allSatisfy { $0.value == Self.normalised($0.name, sent[$0.name]) }
    }

    /// Whether the response is for those alone who do not prove who they are.
    public var areOfNobody: Bool {
        fields.contains { $0.name == "authorization" && $0.value == nil }
    }

    /// Whether a response is chosen by who asks: its `Vary` names `Authorization`.
    public static func nameAuthorization(in response: HeaderList) -> Bool {
        response.values(of: "Vary").flatMap(FieldList.members).contains {
            $0.asciiLowercased == "authorization"
        }
    }

    /// The values of a request by names in lower case.
    private static func values(of request: HeaderList) -> [String: [String]] {
        Dictionary(
            request.byName.map { ($0.name.asciiLowercased, $0.values) }, uniquingKeysWith: +)
    }

    /// Bytes of all names and values.
    public var byteCount: Int {
        fields.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.utf8.count ?? 0) }
    }

    private static func normalised(_ name: String, _ values: [String]?) -> String? {
        guard let values else { return nil }
        // What proves who somebody is, is no list, and is compared to the byte.
        guard !opaque.contains(name) else { return values.joined(separator: ", ") }
        let members = FieldList.members(values.joined(separator: ","))
        guard let isCaseSensitive = negotiating[name] else { return members.joined(separator: ",") }
        return members.map { member in
            let text = withoutSpaceAroundParameters(member)
            return isCaseSensitive ? text : text.asciiLowercased
        }.sorted().joined(separator: ",")
    }

    private static func withoutSpaceAroundParameters(_ member: Substring) -> String {
        guard member.utf8.contains(UInt8(ascii: ";")) else { return String(member) }
        return member.split(separator: ";").map(\.trimmingFieldSpace).joined(separator: ";")
    }

    private static let opaque: Set<String> = ["authorization", "proxy-authorization", "cookie"]
    /// Lists whose order means nothing (RFC 9110 §12.5), and whether case may: a media type's
    /// parameters may have it.
    private static let negotiating = [
        "accept": true, "accept-charset": false, "accept-encoding": false, "accept-language": false,
    ]
}

/// A list of values (RFC 9110 §5.6.1).
enum FieldList {
    /// The members without the blanks around them, and without empty ones; a comma between quotes
    /// separates nothing.
    static func members(_ text: String) -> [Substring] {
        var members: [Substring] = []
        let bytes = text.utf8
        var start = bytes.startIndex
        var index = start
        var isQuoted = false
        func close() {
            let member = Substring(bytes[start..<index]).trimmingFieldSpace
            if !member.isEmpty { members.append(member) }
        }
        while index < bytes.endIndex {
            switch bytes[index] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted:
                // What is escaped stands for itself, a quote too.
                let next = bytes.index(after: index)
                if next < bytes.endIndex { index = next }
            case UInt8(ascii: ",") where !isQuoted:
                close()
                start = bytes.index(after: index)
            default: break
            }
            index = bytes.index(after: index)
        }
        close()
        return members
    }
}
