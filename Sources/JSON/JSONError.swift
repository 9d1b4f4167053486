/// Why a JSON text, or a value in it, was refused.
public struct JSONError: Error, Equatable, Sendable {
    /// What is at fault.
    public enum Kind: Equatable, Sendable {
        /// The text is not JSON as RFC 8259 defines it, names a member twice, or is over a limit.
        case malformed
        /// The text may be JSON, but the value at `pointer` is not what its reader asked for.
        case wrongValue
        /// The object has a member that its reader does not know; `pointer` names that member.
        case unknownMember
    }

    /// What is at fault.
    public let kind: Kind

    /// Where, as an RFC 6901 pointer such as `/tasks/3/headers/User-Agent`; empty for the root.
    ///
    /// For malformed text it is the innermost value that was being read. At most 1,024 bytes:
    /// beyond that, the nearest parent that fits.
    public let pointer: String

    /// What is wrong, as the end of a sentence about the value: "must be a string, not a number".
    ///
    /// Holds no text of the input.
    public let detail: String

    /// How many bytes of the text stand before the fault; for a wrong value, before that value.
    public let offset: Int

    /// An error made by hand, for a check that is made once the reader is gone.
    public init(kind: Kind, pointer: String, detail: String, offset: Int = 0) {
        self.kind = kind
        self.pointer = pointer
        self.detail = detail
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    /// One line for people: the detail, the pointer and the offset.
    public var description: String {
        "\(detail) (at \"\(pointer)\", offset \(offset))"
    }
}
