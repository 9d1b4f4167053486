internal import Semantics

/// The content of a stored response, held: it can be read to its end though the cache has given it
/// up.
enum CachedContent: Sendable {
    case bytes([UInt8])
    case file(any OpenContent)
}

/// A stored response that may answer a request, and its content where that is in memory.
struct CacheCandidate {
    var entry: CachedEntry
    /// What it is looked up by on the disk.
    let fingerprint: Int64
    var content: CachedContent?
}

/// The content of a response that is to be stored.
enum NewContent {
    case bytes([UInt8])
    /// The finished file of a task's content.
    case file(ContentName)
    /// A file without a name, as ephemeral sessions have them.
    case unnamed(any OpenContent)
}
