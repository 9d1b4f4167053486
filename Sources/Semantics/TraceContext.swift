internal import Syntax

/// The trace that a request belongs to, as the W3C's Trace Context writes it in `traceparent` and
/// `tracestate`. <https://www.w3.org/TR/trace-context/>
public struct TraceContext: Hashable, Sendable {
    /// Of the whole trace: 32 digits of hexadecimal, in small letters.
    public let traceID: String
    /// Of the span that has sent the request: 16 digits.
    public let parentID: String
    /// Bit 0 tells whether the trace is recorded, bit 1 whether its id is random.
    public let flags: UInt8
    /// What tracing systems say to each other, as it came; nil where nothing did.
    public var state: String?

    /// Reads what a request brings.
    ///
    /// - Parameters:
    ///   - parent: the value of `traceparent`.
    ///   - states: the values of `tracestate`, in their order. What is malformed is left out (§3.3).
    /// - Returns: nil where `parent` is malformed: then it counts as none (§3.2).
    public init?(parent: String, states: [String] = []) {
        let bytes = Array(parent.utf8)
        guard bytes.count >= TraceContext.length, bytes[2] == TraceContext.dash,
            bytes[35] == TraceContext.dash, bytes[52] == TraceContext.dash,
            let version = TraceContext.digits(bytes[0..<2]), version != "ff",
            let traceID = TraceContext.digits(bytes[3..<35]),
            traceID.contains(where: { $0 != "0" }),
            let parentID = TraceContext.digits(bytes[36..<52]),
            parentID.contains(where: { $0 != "0" }),
            let flags = TraceContext.digits(bytes[53..<55]).flatMap({ UInt8($0, radix: 16) })
        else { return nil }
        // A later version may have more behind another dash (§3.2.4).
        let hasMore = bytes.count > TraceContext.length
        guard !hasMore || (version != "00" && bytes[TraceContext.length] == TraceContext.dash)
        else { return nil }
        self.init(
            traceID: traceID, parentID: parentID,
            flags: version == "00" ? flags : flags & 1,
            state: TraceContext.state(of: states))
    }

    /// A context from its parts; they are not checked again.
    public init(traceID: String, parentID: String, flags: UInt8, state: String? = nil) {
        self.traceID = traceID
        self.parentID = parentID
        self.flags = flags
        self.state = state
    }

    /// The value of `traceparent`.
    public var parent: String {
        "00-\(traceID)-\(parentID)-\(Hex.text(of: [flags & 3]))"
    }

    /// The same trace, as a span of the gateway's own sends it on; `span` must not be 0.
    public func from(span: UInt64) -> TraceContext {
        let bytes = withUnsafeBytes(of: span.bigEndian) { Array($0) }
        return TraceContext(
            traceID: traceID, parentID: Hex.text(of: bytes), flags: flags, state: state)
    }

    /// The fields that tell a receiver of a new span.
    public func fields(
        using generator: inout some RandomNumberGenerator
    ) -> [(name: String, value: String)] {
        let context = from(span: .random(in: 1 ... .max, using: &generator))
        let parent = (name: "traceparent", value: context.parent)
        return state.map { [parent, (name: "tracestate", value: $0)] } ?? [parent]
    }

    private static let length = 55
    private static let dash = UInt8(ascii: "-")
    /// What is passed on at least, and at most here, in bytes (§3.3.1.5).
    private static let stateLimit = 512
    private static let stateMembers = 32

    /// Digits of hexadecimal; capitals are none (§3.2.2.1).
    private static func digits(_ bytes: ArraySlice<UInt8>) -> String? {
        let areDigits = bytes.allSatisfy {
            Octets.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        return areDigits ? String(decoding: bytes, as: UTF8.self) : nil
    }

    private static func state(of values: [String]) -> String? {
        var keys: Set<Substring> = []
        var members: [Substring] = []
        for value in values {
            for member in value.split(separator: ",") {
                let member = trimmed(member)
                if member.isEmpty { continue }
                guard let key = key(of: member), keys.insert(key).inserted else { return nil }
                members.append(member)
            }
        }
        let text = members.joined(separator: ",")
        return members.isEmpty || members.count > stateMembers || text.utf8.count > stateLimit
            ? nil : text
    }

    private static func trimmed(_ member: Substring) -> Substring {
        var member = member.drop { $0 == " " || $0 == "\t" }
        while member.last == " " || member.last == "\t" { member.removeLast() }
        return member
    }

    /// The key of a list member (§3.3.1.3); nil where that is malformed.
    private static func key(of member: Substring) -> Substring? {
        guard let equals = member.firstIndex(of: "=") else { return nil }
        let (key, value) = (member[..<equals], member[member.index(after: equals)...])
        let isKey = key.utf8.allSatisfy { byte in
            Octets.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || "_-*/@".utf8.contains(byte)
        }
        let isValue = value.utf8.allSatisfy {
            (0x20...0x7E).contains($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=")
        }
        guard isKey, isValue, (1...256).contains(key.utf8.count),
            (1...256).contains(value.utf8.count),
            key.utf8.first.map({ Octets.isLetter($0) || Octets.isDigit($0) }) == true
        else { return nil }
        return key
    }
}
