internal import DequeModule
internal import Diagnostics
internal import Loop
internal import Semantics

/// What the cache fetches for itself.
@LoopActor
protocol CacheFetch: AnyObject {
    /// Ends it without a result.
    func cancel()
}

/// The stored responses of one session (S-24, RFC 9111): what may be done with them is for
/// Semantics to say.
///
/// Two tiers. Memory has what is small, with its content. The disk has what a start finds again:
/// rows of the store with small contents in them, and files for larger ones; of these, memory has
/// no more than a compact index, which is read when the session first asks for anything. Of an
/// ephemeral session there is the first tier alone (S-2).
@LoopActor
final class ResponseCache {
    /// What the disk tier knows of each response without reading it.
    private struct Row {
        let isFile: Bool
    }

    private struct DiskUsage: Equatable {
        var bytes: Int64 = 0
        var count = 0
    }

    private let owner: (session: SessionID, tenant: TenantID)
    private let capacity: CacheCapacity
    private var parts: Parts
    private let memory: CacheMemory
    private var disk: CacheTier<Int64, Row> {
        didSet { noteDisk() }
    }
    /// How much the disk has; nothing before its index is here.
    private var onDisk: Acknowledged<DiskUsage>
    /// Whether the index of the disk is here; until then nothing is known.
    private(set) var isOpen: Bool
    private var opening: Task<Void, Never>?
    /// What waits to ask the disk, the oldest first.
    private var lookUps = Deque<@LoopActor () async -> Void>()
    private var isServingLookUps = false
    /// How often metadata have changed: what was read before that may be older than what is known.
    private var changeCount = 0
    /// Responses that were used since the store heard of them last.
    private var uses: Set<CacheEntryID> = []
    private var invalidations = Invalidations()
    /// Stored responses that are being validated while their stale contents are in use already (RFC
    /// 5861 §3).
    var revalidations: [CacheEntryID: any CacheFetch] = [:]
    private var files: CacheFiles { parts.files }
    private let log = Log("engine.cache")

    /// What a cache is made of.
    struct Parts {
        /// Nil where nothing reaches a disk.
        fileprivate(set) var commits: CommitQueue?
        /// Whether another node has the cache.
        fileprivate(set) var hasLeft = false
        let sealer: any Sealer
        let files: CacheFiles
        /// Where what is on the disk counts.
        let account: SessionAccount
        /// Memory for the caches of all sessions.
        let room: SharedRoom
        let clock: any Clock
        let makeID: @LoopActor () -> CacheEntryID
    }

    /// A session's cache; `isNew` where the store cannot have anything of it.
    init(_ record: SessionRecord, isNew: Bool, _ parts: Parts) {
        owner = (record.id, record.tenant)
        capacity = record.configuration.urlCache
        self.parts = parts
        memory = CacheMemory(capacity, of: record.tenant, in: parts.room)
        disk = CacheTier(capacity: parts.commits == nil ? 0 : max(0, capacity.diskCapacity))
        isOpen = isNew || parts.commits == nil
        onDisk = Acknowledged(DiskUsage(), in: parts.commits)
    }

    // MARK: Looking up

    /// What is stored for a key, if all of that is in memory; nil where the disk must be asked.
    func candidatesInMemory(for key: CacheKey) -> [CacheCandidate]? {
        guard isOpen else { return nil }
        let found = memory.candidates(under: key)
        guard disk.count > 0 else { return found }
        // One that is known tells it: it costs more than all the rest.
        let fingerprint = found.first?.fingerprint ?? fingerprint(of: key)
        guard disk.ids(under: fingerprint).allSatisfy({ memory[$0] != nil }) else { return nil }
        return found
    }

    /// What is stored for a key, as far as it can be read.
    func candidates(for key: CacheKey) async -> [CacheCandidate] {
        await lookUp(key) ?? memory.candidates(under: key)
    }

    /// What is stored for a key; nil where the disk cannot be read at the moment.
    private func lookUp(_ key: CacheKey) async -> [CacheCandidate]? {
        await open()
        if let found = candidatesInMemory(for: key) { return found }
        let fingerprint = fingerprint(of: key)
        let before = changeCount
        guard let kept = await read(under: fingerprint) else { return nil }
        // One that has come and was committed while the store was read is in nothing that was read;
        // of a cache that another node has, there is nothing to read any more.
        let isWhole =
            parts.hasLeft
            || disk.ids(under: fingerprint).allSatisfy { id in
                memory[id] != nil || kept.contains { $0.entry.response.id == id }
            }
        guard before == changeCount, isWhole else { return await lookUp(key) }
        var found: [CacheCandidate] = []
        for response in kept where disk[response.entry.response.id] != nil {
            let id = response.entry.response.id
            guard memory[id] == nil, response.entry.response.key == key else { continue }
            let candidate = CacheCandidate(
                entry: response.entry, fingerprint: fingerprint,
                content: response.content.map(CachedContent.bytes))
            memory.insert(candidate)
            found.append(candidate)
        }
        // What was read may have left the disk meanwhile, and new ones may have come.
        return found.filter { memory[$0.entry.response.id] == nil }
            + memory.candidates(under: key)
    }

    /// Does what asks the disk, behind what came before: any number may wait, and they go on in
    /// their order (S-43).
    func enqueue(_ lookUp: @escaping @LoopActor () async -> Void) {
        lookUps.append(lookUp)
        guard !isServingLookUps else { return }
        isServingLookUps = true
        LoopActor.start { [self] in
            await open()
            var count = 0
            while let lookUp = lookUps.popFirst() {
                await lookUp()
                count += 1
                if count.isMultiple(of: ResponseCache.lookUpSlice) { await Task.yield() }
            }
            isServingLookUps = false
        }
    }

    /// After so many look-ups others have their turn on the loop.
    private static let lookUpSlice = 32

    /// Whether a response is still there.
    func contains(_ id: CacheEntryID) -> Bool {
        disk[id.rawValue] != nil || memory[id.rawValue] != nil
    }

    /// What is stored for a key now, as far as it can be known at once: what was found before may
    /// be gone, or changed.
    func candidates(for key: CacheKey, foundBefore found: [CacheCandidate]) -> [CacheCandidate] {
        if let now = candidatesInMemory(for: key) { return now }
        return found.compactMap { candidate in
            contains(candidate.entry.id)
                ? memory[candidate.entry.response.id] ?? candidate : nil
        }
    }

    /// The content of a candidate, to be held. Where it is gone, the response is, too.
    func content(of candidate: CacheCandidate) async -> CacheFiles.Finding {
        if let content = candidate.content { return .content(content) }
        let entry = candidate.entry
        guard entry.place == .file else {
            forget(entry.id)
            return .gone
        }
        let isSmall = memory.admits(entry.size)
        let before = changeCount
        let finding = await files.content(of: entry, whole: isSmall)
        switch finding {
        case .content(.bytes(let bytes)) where contains(entry.id) && before == changeCount:
            var small = candidate
            small.content = .bytes(bytes)
            memory.insert(small)
        case .content, .unreadable: break
        case .gone: forget(entry.id)
        }
        return finding
    }

    /// Lets a task without a slot read a content that is a file; nil where it must have one.
    func permitToRead() -> SharedPermit? { files.permit(for: owner.tenant) }

    /// A response has answered a request.
    func noteUse(of id: CacheEntryID) {
        memory.touch(id.rawValue)
        guard disk[id.rawValue] != nil else { return }
        disk.touch(id.rawValue)
        uses.insert(id)
    }

    // MARK: Changing

    /// Something is asked of an origin: what comes may be stored if nothing has made it out of date
    /// by then.
    func beginFetch() -> Int64 { invalidations.now() }

    /// Whether what is under a key, or the whole cache, was invalidated after a fetch began.
    func isOutOfDate(_ fetch: Int64, _ key: CacheKey) -> Bool {
        invalidations.hasHappened(to: key, after: fetch)
    }

    /// Takes the head of an origin's answer: what it does to what is stored (§4.3, §4.4) is done.
    ///
    /// - Parameters:
    ///   - answer: the head.
    ///   - forwarding: what it answers.
    ///   - found: what the look-up for that has found.
    /// - Returns: what it means for the client, and whether it may be stored.
    func take(
        _ answer: OriginAnswer, to forwarding: Forwarding, foundBefore found: [CacheCandidate]
    ) -> CacheUpdate {
        let candidates = candidates(for: forwarding.request.key, foundBefore: found)
        let update = CacheUpdate(
            answer, to: forwarding, candidates: candidates.map(\.entry.response))
        apply(update, among: candidates)
        return update
    }

    private func apply(_ update: CacheUpdate, among candidates: [CacheCandidate]) {
        for id in update.removed { forget(CacheEntryID(rawValue: id)) }
        for response in update.updated {
            guard
                let candidate = candidates.first(where: { $0.entry.response.id == response.id }),
                contains(candidate.entry.id)
            else { continue }
            var entry = candidate.entry
            entry.response = response
            entry.usedAt = parts.clock.now
            change(candidate, to: entry)
        }
        for key in update.invalidated { invalidate(key) }
    }

    /// Stores a response whose content is whole, in place of what answered its request before; one
    /// that is too large, or that something has made out of date, is not stored, nor one of which
    /// it cannot be told what it takes the place of.
    ///
    /// - Returns: whether it is stored.
    @discardableResult
    func store(_ new: NewResponse, _ content: NewContent) async -> Bool {
        if let isStored = storeAtOnce(new, content) { return isStored }
        guard let entry = entry(for: new, content) else { return false }
        var bytes: [UInt8]?
        switch content {
        case .bytes(let whole): bytes = whole
        case .file(let content):
            if entry.place == .file {
                guard await files.link(content, as: entry.id) else { return false }
            } else {
                guard memory.admits(entry.size),
                    let whole = await files.read(content, entry.response.length)
                else { return false }
                bytes = whole
            }
        case .unnamed(let file):
            guard memory.admits(entry.size),
                let whole = await files.read(file, entry.response.length)
            else { return false }
            bytes = whole
        }
        guard let others = await lookUp(entry.response.key) else {
            if entry.place == .file { files.unlink(entry.id) }
            return false
        }
        return put(entry, bytes, in: others, new)
    }

    /// The same where nothing has to be waited for.
    ///
    /// - Returns: whether it is stored; nil where that takes more, and nothing was done.
    func storeAtOnce(_ new: NewResponse, _ content: NewContent) -> Bool? {
        guard case .bytes(let bytes) = content,
            let others = candidatesInMemory(for: new.request.key)
        else { return nil }
        guard let entry = entry(for: new, content) else { return false }
        return put(entry, bytes, in: others, new)
    }

    private func entry(for new: NewResponse, _ content: NewContent) -> CachedEntry? {
        guard let response = new.response(id: parts.makeID().rawValue) else { return nil }
        return CachedEntry(
            session: owner.session, tenant: owner.tenant, response: response,
            place: place(of: response, content, new.policy), userInfo: new.userInfo,
            usedAt: parts.clock.now)
    }

    private func put(
        _ entry: CachedEntry, _ bytes: [UInt8]?, in others: [CacheCandidate], _ new: NewResponse
    ) -> Bool {
        let isSmall = memory.admits(entry.size)
        guard !isOutOfDate(new.fetch, entry.response.key) else {
            if entry.place == .file { files.unlink(entry.id) }
            return false
        }
        let replaced = entry.response.predecessors(
            answering: new.request, among: others.map(\.entry.response))
        guard let replaced else {
            if entry.place == .file { files.unlink(entry.id) }
            return false
        }
        for other in replaced { forget(CacheEntryID(rawValue: other.id)) }
        guard entry.place != .memory || isSmall else { return false }
        guard
            entry.place == .memory
                || parts.account.tenant.hasRoom(for: entry.size, of: .storedBytes)
        else {
            if entry.place == .file { files.unlink(entry.id) }
            return false
        }
        let fingerprint = fingerprint(of: entry.response.key)
        if entry.place != .memory { keep(KeptResponse(entry, under: fingerprint, content: bytes)) }
        if let bytes, isSmall {
            memory.insert(
                CacheCandidate(entry: entry, fingerprint: fingerprint, content: .bytes(bytes)))
        }
        return contains(entry.id)
    }

    /// Everything of a key goes (§4.4), and what is being fetched for it is not stored.
    func invalidate(_ key: CacheKey) {
        invalidations.note(key)
        let fingerprint = fingerprint(of: key)
        // Of what is not in memory only the fingerprint is known: another key's of the same one
        // goes with it.
        let ids =
            disk.ids(under: fingerprint) + memory.candidates(under: key).map(\.entry.response.id)
        for id in Set(ids) where memory[id].map({ $0.entry.response.key == key }) ?? true {
            forget(CacheEntryID(rawValue: id))
        }
    }

    /// Empties the cache (S-12); what is being fetched is not stored.
    func removeAll() async {
        await open()
        invalidations.noteAll()
        let owned = disk.all.filter(\.item.isFile).map { CacheEntryID(rawValue: $0.id) }
        memory.removeAll()
        disk.removeAll()
        uses = []
        for revalidation in revalidations.values { revalidation.cancel() }
        revalidations = [:]
        parts.commits?.record(.emptiedCache(of: owner.session))
        await files.remove(owned)
    }

    /// Ends what is fetched for it: another node has what it has stored, and nothing that comes
    /// late changes that.
    func leave() {
        tidy()
        for revalidation in revalidations.values { revalidation.cancel() }
        revalidations = [:]
        parts.commits = nil
        parts.hasLeft = true
    }

    /// Brings to the store which responses were used.
    func tidy() {
        let now = parts.clock.now
        for id in uses { parts.commits?.record(.use(of: id, at: now)) }
        uses = []
    }

    /// Bytes in memory, bytes on disk, and how many responses there are in all; of the disk, what
    /// the store has.
    func usage() async -> CacheUsage {
        await open()
        let onlyInMemory = memory.ids.count { disk[$0] == nil }
        let onDisk = onDisk.shown ?? DiskUsage()
        return CacheUsage(
            memoryUsage: memory.usage, diskUsage: onDisk.bytes,
            entryCount: onDisk.count + onlyInMemory)
    }

    private func noteDisk() {
        let usage = DiskUsage(bytes: disk.usage, count: disk.count)
        guard isOpen, usage != onDisk.newest else { return }
        parts.account.changeStored(by: usage.bytes - onDisk.newest.bytes)
        onDisk.change { $0 = usage }
    }

    /// What the store has under a key, beside what only memory has.
    func shownEntries(for key: CacheKey) async throws(StoreError) -> [CachedEntry] {
        let found = await candidates(for: key).map(\.entry)
        guard let commits = parts.commits else { return found }
        await commits.caughtUp()
        let stored = try await commits.store.cacheEntries(
            of: owner.session, under: fingerprint(of: key))
        return found.filter { $0.place == .memory }
            + stored.map(\.entry).filter { $0.response.key == key }
    }

    // MARK: Tiers

    private func fingerprint(of key: CacheKey) -> Int64 {
        key.fingerprint(in: owner.session, of: owner.tenant, by: parts.sealer)
    }

    /// Takes in what there is on the disk, oldest first.
    private func open() async {
        guard !isOpen else { return }
        if let opening { return await opening.value }
        let task = LoopActor.start { [self] in
            guard let store = parts.commits?.store else { return }
            do throws(StoreError) {
                var counted: Int64 = 0
                for row in try await store.cacheIndex(of: owner.session) {
                    counted += row.size
                    give(
                        up: disk.insert(
                            Row(isFile: row.isFile), as: row.id.rawValue, under: row.fingerprint,
                            size: row.size))
                }
                isOpen = true
                // The start has counted all of it.
                parts.account.changeStored(by: disk.usage - counted)
                onDisk = Acknowledged(
                    DiskUsage(bytes: disk.usage, count: disk.count), in: parts.commits)
            } catch {
                log.write(.error, "a cache cannot be read", ["error": .words("\(error)")])
            }
            opening = nil
        }
        opening = task
        await task.value
    }

    /// What the disk has under a fingerprint; nil where it cannot be read at the moment.
    private func read(under fingerprint: Int64) async -> [KeptResponse]? {
        guard let commits = parts.commits else { return [] }
        // What is on its way meanwhile may be in neither of the two that are read.
        let owed = Set(
            commits.pendingResponses(of: owner.session, under: fingerprint)
                .map(\.entry.response.id))
        let expected = disk.ids(under: fingerprint).filter { !owed.contains($0) }
        do throws(StoreError) {
            let stored = try await commits.store.cacheEntries(
                of: owner.session, under: fingerprint)
            let pending = commits.pendingResponses(of: owner.session, under: fingerprint)
            let newer = Dictionary(
                uniqueKeysWithValues: pending.map { ($0.entry.id, $0) })
            let all =
                stored.map { newer[$0.entry.id]?.completed(by: $0) ?? $0 }
                + pending.filter { new in !stored.contains { $0.entry.id == new.entry.id } }
            // A row that cannot be read is left out, and is no use to anybody.
            let readable = Set(all.map(\.entry.response.id))
            for id in expected where !readable.contains(id) {
                forget(CacheEntryID(rawValue: id))
            }
            return all
        } catch {
            // What was stored is not lost for that: other requests find it again.
            log.write(.error, "stored responses cannot be read", ["error": .words("\(error)")])
            return nil
        }
    }

    private func place(
        of response: StoredResponse, _ content: NewContent, _ policy: CacheStoragePolicy
    ) -> CachedEntry.Place {
        guard policy == .allowed, parts.commits != nil, capacity.diskAdmits(response.size) else {
            return .memory
        }
        if case .bytes = content { return .store }
        return .file
    }

    /// Puts a response on the disk.
    private func keep(_ response: KeptResponse) {
        let entry = response.entry
        parts.commits?.record(.response(response))
        give(
            up: disk.insert(
                Row(isFile: entry.place == .file), as: entry.response.id,
                under: response.fingerprint, size: entry.size))
    }

    /// The metadata of a response have changed.
    private func change(_ candidate: CacheCandidate, to entry: CachedEntry) {
        changeCount += 1
        if var known = memory[entry.response.id] {
            known.entry = entry
            memory.insert(known)
        }
        if disk[entry.response.id] != nil {
            keep(KeptResponse(entry, under: candidate.fingerprint))
        }
    }

    /// A response goes.
    func forget(_ id: CacheEntryID) {
        memory.remove(id.rawValue)
        if let row = disk.remove(id.rawValue) { give(up: [(id.rawValue, row)]) }
    }

    /// What is in the index no more leaves the disk.
    private func give(up rows: [(id: Int64, item: Row)]) {
        for (number, row) in rows {
            let id = CacheEntryID(rawValue: number)
            memory.remove(number)
            uses.remove(id)
            parts.commits?.record(.removedResponse(id))
            if row.isFile, !parts.hasLeft { files.unlink(id) }
        }
    }
}
