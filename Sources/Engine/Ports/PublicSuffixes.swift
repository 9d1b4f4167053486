/// The public suffix list: under which names others register theirs (<https://publicsuffix.org/list/>).
public protocol PublicSuffixes: Sendable {
    /// Whether a name is such a suffix, as `com` and `co.uk` are. A top-level name that the list does not know is one.
    ///
    /// - Parameter name: in lower case and A-labels, without dots at either end; no address.
    func isPublicSuffix(_ name: String) -> Bool
}
