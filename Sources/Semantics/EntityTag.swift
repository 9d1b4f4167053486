internal import Syntax

/// An entity tag (RFC 9110 §8.8.3).
public struct EntityTag: Hashable, Sendable, LosslessStringConvertible {
    /// Whether it stands for equal meaning only, and not for equal bytes: `W/"…"`.
    public let isWeak: Bool
    /// What stands between the quotes.
    public let opaque: String

    /// A tag from its parts; nil where `opaque` has a quote, a blank or a control character.
    public init?(opaque: String, isWeak: Bool = false) {
        guard opaque.utf8.allSatisfy(Self.isTagByte) else { return nil }
        self.opaque = opaque
        self.isWeak = isWeak
    }

    /// Reads `"…"` or `W/"…"` and nothing else.
    public init?(_ description: String) {
        var rest = description.utf8[...]
        guard let tag = Self.take(from: &rest), rest.isEmpty else { return nil }
        self = tag
    }

    /// The field's value.
    public var description: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }

    /// Equal bytes: equal, and neither is weak (RFC 9110 §8.8.3.2).
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque == other.opaque
    }

    /// Equal meaning: equal, weak or not.
    public func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    static func take(from rest: inout Substring.UTF8View) -> EntityTag? {
        let isWeak = rest.starts(with: "W/".utf8)
        if isWeak { rest.removeFirst(2) }
        guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
        let opaque = rest.prefix(while: isTagByte)
        rest = rest[opaque.endIndex...]
        guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
        return EntityTag(opaque: String(Substring(opaque)), isWeak: isWeak)
    }

    private static func isTagByte(_ byte: UInt8) -> Bool {
        byte == 0x21 || (0x23...0x7e).contains(byte) || byte >= 0x80
    }
}

/// The value of `If-Match` or `If-None-Match` (RFC 9110 §13.1.1, §13.1.2).
public enum EntityTagCondition: Hashable, Sendable {
    /// `*`: any representation.
    case any
    case tags([EntityTag])

    /// Reads `*` or a list of tags; nil where it is neither.
    public init?(parsing text: String) {
        guard text.trimmingFieldSpace != "*" else {
            self = .any
            return
        }
        var tags: [EntityTag] = []
        var rest = text.utf8[...]
        var isSeparated = true
        while let byte = rest.first {
            if byte == UInt8(ascii: ",") || Octets.isWhitespace(byte) {
                isSeparated = isSeparated || byte == UInt8(ascii: ",")
                rest.removeFirst()
            } else {
                guard isSeparated, let tag = EntityTag.take(from: &rest) else { return nil }
                tags.append(tag)
                isSeparated = false
            }
        }
        guard !tags.isEmpty else { return nil }
        self = .tags(tags)
    }
}
