/// What an operation did to a jar, for whom keeps the jar elsewhere too: take out `removed`, then
/// put `stored` in.
public struct CookieChanges: Equatable, Sendable {
    /// No longer in the jar: ended, deleted, or given up for the limits. What was only overwritten
    /// is not among them.
    public private(set) var removed: [Cookie] = []
    /// By their sequences, which an identity keeps while it is in the jar.
    private var storedBySequence: [Int64: Cookie] = [:]

    /// Now in the jar, as they are there, in the order of creation.
    public var stored: [Cookie] {
        storedBySequence.values.sorted { $0.isOlder(than: $1) }
    }

    /// Whether the jar is as it was.
    public var isEmpty: Bool { removed.isEmpty && storedBySequence.isEmpty }

    /// No changes.
    public init() {}

    init(removed: [Cookie]) { self.removed = removed }

    init(stored cookie: Cookie) { self.storedBySequence = [cookie.sequence: cookie] }

    /// Adds what came afterwards; what was stored and is gone again is not in `stored`.
    mutating func append(_ later: CookieChanges) {
        for cookie in later.removed { storedBySequence[cookie.sequence] = nil }
        removed += later.removed
        storedBySequence.merge(later.storedBySequence) { _, new in new }
    }
}

/// What became of the `Set-Cookie` fields of a response.
public struct CookieReception: Equatable, Sendable {
    /// What they changed.
    public internal(set) var changes = CookieChanges()
    /// The fields that were refused, by their places, with the reasons.
    public internal(set) var rejections: [Int: CookieRejection] = [:]
}
