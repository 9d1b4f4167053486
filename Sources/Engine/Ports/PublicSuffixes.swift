/// The public suffix list: under which names others register theirs
/// (<https://publicsuffix.org/list/>).
public protocol PublicSuffixes: Sendable {
    /// Judges a name.
    ///
    /// - Parameter name: in lower case and A-labels, without dots at either end; no address.
    /// - Returns: whether it is such a suffix, as `com` and `co.uk` are. A top-level name that the
    ///   list does not know is one.
    func isPublicSuffix(_ name: String) -> Bool
}
