/// What an operation did to a jar, for whom keeps the jar elsewhere too.
public struct CookieChanges: Equatable, Sendable {
    /// Now in the jar, as they are there; what they have overwritten is not among `removed`.
    public internal(set) var stored: [Cookie] = []
    /// No longer in the jar: ended, deleted, or given up for the limits.
    public internal(set) var removed: [Cookie] = []

    /// No changes.
    public init() {}

    /// Whether the jar is as it was.
    public var isEmpty: Bool { stored.isEmpty && removed.isEmpty }

    /// Adds what came afterwards; a cookie that was stored and is gone again was never there.
    mutating func append(_ later: CookieChanges) {
        removed += later.removed
        let gone = later.removed + later.stored
        stored.removeAll { cookie in gone.contains { $0.hasIdentity(of: cookie) } }
        stored += later.stored
    }
}

/// What became of the `Set-Cookie` fields of a response.
public struct CookieReception: Equatable, Sendable {
    /// What they changed.
    public internal(set) var changes = CookieChanges()
    /// The fields that were refused, by their places, with the reasons.
    public internal(set) var rejections: [Int: CookieRejection] = [:]
}
