/// Values of structured fields (RFC 9651), as far as the gateway's answers have them; parameters
/// are left out.
enum StructuredField {
    /// An integer of at most 15 digits (§3.3.1); nil for anything else.
    static func integer(_ field: String?) -> Int64? {
        guard let item = item(field) else { return nil }
        let digits = item.hasPrefix("-") ? item.dropFirst() : item
        guard (1...15).contains(digits.count), digits.allSatisfy({ ("0"..."9").contains($0) })
        else { return nil }
        return Int64(item)
    }

    /// A Boolean, `?1` or `?0` (§3.3.6); nil for anything else.
    static func boolean(_ field: String?) -> Bool? {
        switch item(field) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    private static func item(_ field: String?) -> Substring? {
        let bare = field?.prefix { $0 != ";" }.drop { $0 == " " }
        return bare.map { $0.prefix { $0 != " " } }
    }
}
