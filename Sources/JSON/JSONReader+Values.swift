internal import Syntax

extension JSONReader {
    /// Reads `true` or `false`.
    ///
    /// - Throws: `wrongValue` when the value is neither; `malformed`.
    public mutating func bool() throws(JSONError) -> Bool {
        try begin(.bool)
        let value = bytes[index] == UInt8(ascii: "t")
        try take(value ? "true" : "false")
        return value
    }

    /// Reads `null` if that is the value, and answers whether it was.
    ///
    /// - Throws: `malformed`.
    public mutating func takeNull() throws(JSONError) -> Bool {
        guard try peekKind() == .null else { return false }
        try take("null")
        return true
    }

    /// Reads `null` as nil, and any other value with `body`.
    ///
    /// - Throws: `malformed`; what `body` throws.
    public mutating func optional<Value>(
        _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value? {
        try takeNull() ? nil : try body(&self)
    }

    /// Reads a string or null.
    ///
    /// - Throws: `wrongValue` when the value is neither; `malformed`.
    public mutating func optionalString() throws(JSONError) -> String? {
        try takeNull() ? nil : try string()
    }

    /// Reads a whole number in `range` or null.
    ///
    /// - Throws: `wrongValue` when the value is neither; `malformed`.
    public mutating func optionalInt64(
        in range: ClosedRange<Int64> = .min ... .max
    ) throws(JSONError) -> Int64? {
        try takeNull() ? nil : try int64(in: range)
    }

    /// Reads a string that is one of the cases of an enumeration.
    ///
    /// - Throws: `wrongValue`, with the list of the cases, when it is none; `malformed`.
    public mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ type: Choice.Type = Choice.self
    ) throws(JSONError) -> Choice {
        guard let choice = Choice(rawValue: try string()) else {
            let names = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw fail("must be one of \(names)")
        }
        return choice
    }

    /// Reads bytes from a string in base64 (RFC 4648 §4), strictly.
    ///
    /// - Throws: `wrongValue` when the value is none; `malformed`.
    public mutating func base64() throws(JSONError) -> [UInt8] {
        guard let bytes = Base64.standard.bytes(of: try string()) else {
            throw fail("must be base64 with padding (RFC 4648 §4)")
        }
        return bytes
    }

    /// Reads an instant as milliseconds since 1970 from a string, as `RFC3339.milliseconds(_:)`
    /// does.
    ///
    /// - Throws: `wrongValue` when the value is none; `malformed`.
    public mutating func instant() throws(JSONError) -> Int64 {
        guard let instant = RFC3339.milliseconds(try string()) else {
            throw fail("must be an instant such as \"2026-11-21T06:30:00.000Z\" (RFC 3339)")
        }
        return instant
    }
}
