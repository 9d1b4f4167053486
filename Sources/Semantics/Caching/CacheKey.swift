/// What stored responses are found by (RFC 9111 §2): the URL, without its fragment.
///
/// The method is no part of it: what is stored answers GET and HEAD only. Which of several
/// responses of one key answers a request is for `Vary` to say.
public struct CacheKey: Hashable, Sendable {
    /// The URL in normal form, without a fragment.
    public let url: String

    /// The key of a request's URL.
    public init(_ url: WebURL) { self.url = url.string }

    /// A key that was kept before.
    public init(stored url: String) { self.url = url }
}
