internal import Syntax

/// Text as a segment of a path or a value of a query.
enum PathText {
    /// All bytes but RFC 3986's unreserved characters as `%XX` (§2.1, §2.3).
    static func escaped(_ text: String) -> String {
        PercentCoding.text(encoding: text.utf8, keeping: Octets.isUnreserved)
    }
}
