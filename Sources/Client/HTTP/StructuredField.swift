internal import RawStructuredFieldValues

/// Values of structured fields (RFC 9651), as far as the gateway's answers have them; parameters
/// are left out.
enum StructuredField {
    /// An integer of at most 15 digits (§3.3.1); nil for anything else.
    static func integer(_ field: String?) -> Int64? {
        guard case .integer(let number) = item(field) else { return nil }
        return number
    }

    /// A Boolean, `?1` or `?0` (§3.3.6); nil for anything else.
    static func boolean(_ field: String?) -> Bool? {
        guard case .bool(let value) = item(field) else { return nil }
        return value
    }

    private static func item(_ field: String?) -> RFC9651BareItem? {
        guard let field else { return nil }
        var parser = StructuredFieldValueParser(Array(field.utf8))
        return try? parser.parseItemFieldValue().rfc9651BareItem
    }
}
