internal import Loop
internal import Semantics

/// What a session remembers from one task to the next; nil where it was told not to (S-24, S-25).
@LoopActor
struct SessionMemory {
    let cookies: CookieStorage?
    let credentials: CredentialStorage?
    let cache: ResponseCache?

    /// The memory of a session that is taken in: what the store has of it, or nothing of a new one.
    /// An invalid one has none.
    init(
        of record: SessionRecord, recalling contents: StoreContents?, in journal: Journal,
        parts: GatewayParts, identifiers: IdentifierSource
    ) {
        let configuration = record.configuration
        let isOver = record.state == .invalid
        cookies =
            isOver || !configuration.hasCookieStorage
            ? nil
            : CookieStorage(
                record, restoring: contents?.cookies[record.id] ?? [],
                suffixes: parts.publicSuffixes, journal: journal, at: parts.clock.now)
        credentials =
            isOver || !configuration.hasCredentialStorage
            ? nil
            : CredentialStorage(
                record, restoring: contents?.credentials[record.id] ?? [:], journal: journal)
        cache =
            isOver || configuration.urlCache.isEmpty
            ? nil
            : ResponseCache(
                record, isNew: contents == nil,
                ResponseCache.Parts(
                    journal: record.isPersistent ? journal : nil, sealer: parts.sealer,
                    files: CacheFiles(parts.files, in: parts.folder), clock: parts.clock,
                    makeID: { identifiers.next() }))
    }
}
