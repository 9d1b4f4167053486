internal import Diagnostics
internal import Files
internal import Loop
internal import Semantics

/// The staged files of all tenants: their records, how these change, and when files go.
@LoopActor
final class StagedFiles {
    /// What is known of each; what is shown is what the store has.
    private var files = OrderedGroups<TenantID, FileID, Acknowledged<StagedFile>>()
    /// Files whose rows cannot be read: they can be deleted.
    private var damaged: [FileID: TenantID] = [:]
    /// Files whose removal is on its way to the store: nothing is begun with them.
    private var deleting: Set<FileID> = []
    /// What of a tenant has yet to be held against what is there.
    private struct Unverified {
        var files: Set<FileID> = []
        /// Whether it could not be, which was told.
        var hasFailed = false
    }

    /// Files whose records have yet to be held against what is there: nothing is appended to them.
    private var unverified: [TenantID: Unverified] = [:]
    /// The tenants whose files are held against it just now.
    private var verifications: [TenantID: Task<Void, Never>] = [:]
    private lazy var verifyAgain = LoopTimer { [weak self] in
        LoopActor.start { await self?.recover() }
    }
    private var quota: FileQuota
    private let accounts: TenantAccounts
    /// The tenants whose work is done here.
    let served: ServedTenants

    private let commits: CommitQueue
    private let clock: KeptClock
    private let room: DiskRoom
    private let contents: any ContentStore
    private let limits: GatewayLimits
    private let log = Log("engine.files")

    init(
        commits: CommitQueue, clock: KeptClock, room: DiskRoom, parts: GatewayParts,
        limits: GatewayLimits, accounts: TenantAccounts, served: ServedTenants
    ) {
        self.served = served
        self.accounts = accounts
        quota = FileQuota(byteLimit: limits.stagedBytes, countLimit: limits.stagedFiles)
        self.commits = commits
        self.clock = clock
        self.room = room
        self.contents = parts.contents
        self.limits = limits
    }

    // MARK: Looking up

    /// A tenant's file. Another's does not exist for it.
    func known(_ id: FileID, _ tenant: TenantID) throws(GatewayError) -> StagedFile {
        guard let file = files[id]?.shown, file.tenant == tenant else {
            throw damaged[id] == tenant ? .damaged : .noSuchFile
        }
        return file
    }

    /// Whether the tenant has the file, and its row cannot be read.
    func isDamaged(_ id: FileID, _ tenant: TenantID) -> Bool { damaged[id] == tenant }

    /// Whether the removal of a file is on its way to the store.
    func isDeleting(_ id: FileID) -> Bool { deleting.contains(id) }

    /// Whether a file has a row, be it damaged.
    func holds(_ id: FileID) -> Bool { files[id] != nil || damaged[id] != nil }

    /// A tenant's files in the order of creation, of those that the store has.
    func page(of tenant: TenantID, after id: FileID?, limit: Int) -> [StagedFile] {
        var page: [StagedFile] = []
        // Not by `compactMap`, which would look at all that follow.
        for id in files.ids(of: tenant, behind: id) {
            guard page.count < limit else { break }
            if let file = files[id]?.shown { page.append(file) }
        }
        return page
    }

    /// All files of a tenant, also those that the store has not heard of, or cannot read.
    func all(of tenant: TenantID) -> [FileID] {
        files.ids(of: tenant)
            + damaged.filter { $0.value == tenant }.map(\.key)
    }

    // MARK: Room

    /// - Throws: `fileTooLarge` for a length that no file may have.
    func requireSize(_ length: Int64?) throws(GatewayError) {
        guard length ?? 0 <= limits.stagedBytes else {
            throw .fileTooLarge(limit: limits.stagedBytes)
        }
    }

    /// Makes room for a file to have `bytes` bytes.
    ///
    /// - Throws: `quotaExceeded`, `overQuota` where there is none.
    func raise(_ id: FileID, to bytes: Int64) throws(GatewayError) {
        try quota.raise(id, to: bytes)
    }

    /// Gives back what a file does not need of its room: nothing is appended to it now.
    func fit(_ id: FileID) {
        if let file = files[id]?.newest { quota.fit(file) }
    }

    // MARK: Records

    /// Takes a new file in, which is on its way to the store from now on.
    ///
    /// - Throws: `quotaExceeded`, `overQuota`.
    func insert(_ file: StagedFile) throws(GatewayError) {
        try quota.admit(file, accounts[file.tenant])
        files.insert(Acknowledged(new: file, in: commits), as: file.id, of: file.tenant)
        commits.record(.file(file))
    }

    /// Gives the store a file's newest form, which is shown once it is durable.
    ///
    /// - Returns: false as soon as the store has no room. It gets the record when there is
    ///   some.
    func save(_ file: StagedFile) async -> Bool {
        put(file)
        return await commits.caughtUp()
    }

    /// Of a file that the store has forgotten meanwhile nothing is told: it would be back.
    private func put(_ file: StagedFile) {
        guard files[file.id] != nil else { return }
        files.change(file.id) { known in known.change { $0 = file } }
        commits.record(.file(file))
    }

    /// The newest form of a file, which the store gets, needs no part.
    func forgetPart(of id: FileID) { contents.forgetPart(of: .file(id)) }

    /// Returns once everything is durable that has been recorded by now, however long the disk is
    /// full.
    func durable() async { await commits.durable() }

    /// The bytes of a complete file, for a task that sends it, or a client that reads it.
    func open(
        _ id: FileID, length: Int64, of tenant: TenantID
    ) async throws(GatewayError) -> any OpenContent {
        let file = try known(id, tenant)
        guard file.isComplete, file.length == length else { throw .noSuchFile }
        noteUse(of: file)
        do {
            return try await contents.openKnown(file.content)
        } catch {
            log.write(.error, "a staged file cannot be opened", ["error": .words("\(error)")])
            throw .cannotOpen(error, orIsGone: .noSuchFile)
        }
    }

    /// Somebody reads or sends a complete file. The store hears of it once a minute.
    private func noteUse(of file: StagedFile) {
        let now = clock.now
        guard var file = files[file.id]?.newest, now.since(file.usedAt) > .seconds(60),
            !deleting.contains(file.id)
        else { return }
        file.usedAt = now
        put(file)
    }

    // MARK: Forgetting

    /// What the wall clock will show when a file is forgotten, unless the file is used or the clock
    /// is set before.
    func expiry(of file: StagedFile) -> Timestamp { clock.wall(at: end(of: file)) }

    /// How long a file is still kept, unless it is used before.
    func timeToLive(of file: StagedFile) -> Duration {
        max(.zero, end(of: file).since(clock.now))
    }

    private func end(of file: StagedFile) -> KeptTime {
        file.usedAt.advanced(by: file.isComplete ? limits.stagedRetention : limits.partialRetention)
    }

    /// Forgets files that nobody has used for their time to live, but those that `areUsed` tells.
    func purge(but areUsed: () -> Set<FileID>) async {
        let expired = files.values.map(\.newest).filter { timeToLive(of: $0) == .zero }.map(\.id)
        for start in stride(from: 0, to: expired.count, by: Slices.size) {
            // While those before were forgotten, others may have been used, or have gone.
            let used = areUsed()
            let slice = expired[start..<min(expired.count, start + Slices.size)].filter { id in
                guard let file = files[id]?.newest, timeToLive(of: file) == .zero else {
                    return false
                }
                return !used.contains(id) && !deleting.contains(id)
            }
            if !slice.isEmpty { await forget(slice) }
        }
    }

    /// Removes a file and all that is kept of it, its bytes after its record: so no record is
    /// without its bytes.
    ///
    /// - Returns: false as soon as the store has no room. The file goes when there is some.
    @discardableResult
    func forget(_ id: FileID) async -> Bool { await forget([id]) }

    @discardableResult
    private func forget(_ ids: [FileID]) async -> Bool {
        deleting.formUnion(ids)
        let bytes = ids.map { files[$0]?.newest.content ?? .file($0) }
        for id in ids { commits.record(.removedFile(id)) }
        commits.whenDurable { [self] areGone in
            deleting.subtract(ids)
            if areGone { ids.forEach(leave) }
        }
        guard await commits.caughtUp() else {
            LoopActor.start { [self] in
                if await commits.durable() { await remove(bytes) }
            }
            return false
        }
        await remove(bytes)
        return true
    }

    /// Forgets new files that the store has refused.
    func discard(_ refused: RefusedNumbers) {
        for number in refused.numbers {
            let id = FileID(rawValue: number)
            if files.remove(id) != nil { quota.release(id) }
        }
    }

    /// The store has forgotten a file.
    private func leave(_ id: FileID) {
        files.remove(id)
        damaged[id] = nil
        quota.release(id)
    }

    private func remove(_ bytes: [ContentName]) async {
        do {
            try await contents.remove(bytes)
            room.look()
        } catch {
            // What has no record is swept up.
            log.write(.error, "staged files cannot be removed", ["error": .words("\(error)")])
        }
    }

    // MARK: A start

    /// Takes in the files that the store has.
    func recall(_ contents: StoreContents) {
        for file in contents.files {
            files.insert(Acknowledged(file, in: commits), as: file.id, of: file.tenant)
            quota.recall(file, accounts[file.tenant])
        }
        damaged.merge(contents.damagedFiles) { $1 }
    }

    /// Whether what is here of a tenant's file is what its record tells, and may grow.
    func grows(_ id: FileID, of tenant: TenantID) -> Bool {
        guard let file = files[id]?.newest else { return false }
        return file.tenant == tenant && !file.isComplete && !isUnverified(id, of: tenant)
    }

    /// A file of a tenant that leaves has been handed over in a series.
    func noteHandOver(of id: FileID, in series: Int64?) {
        guard var file = files[id]?.newest else { return }
        file.series = series
        put(file)
    }

    /// Lets go of a tenant's files, which another node has.
    func unload(_ tenant: TenantID) {
        unverified[tenant] = nil
        let ids = all(of: tenant)
        _ = files.removeAll(ids)
        for id in ids {
            damaged[id] = nil
            quota.release(id)
        }
    }

    /// Returns when what is here of a file is what its record tells.
    ///
    /// - Throws: `tenantIsMoving` where that cannot be found out now, as its place is away, or it
    ///   cannot be read.
    func verified(_ id: FileID, of tenant: TenantID) async throws(GatewayError) {
        guard isUnverified(id, of: tenant) else { return }
        await verification(of: tenant).value
        if isUnverified(id, of: tenant) { throw .tenantIsMoving }
    }

    private func isUnverified(_ id: FileID, of tenant: TenantID) -> Bool {
        unverified[tenant]?.files.contains(id) ?? false
    }

    /// Nothing is appended to files before they have been looked for.
    ///
    /// - Parameter tenants: whose; nil for all.
    func requireVerification(of tenants: Set<TenantID>?) {
        for file in files.values.map(\.newest) where tenants?.contains(file.tenant) ?? true {
            unverified[file.tenant, default: Unverified()].files.insert(file.id)
        }
    }

    /// Holds the records of files against what is there, one tenant after the other. Those that
    /// cannot be looked at, as their place is away for one, are looked for again later.
    ///
    /// A file that is shorter than its record says is damaged: its upload begins at zero.
    func recover() async {
        for tenant in unverified.keys.sorted(by: { $0.rawValue < $1.rawValue })
        where served.contains(tenant) {
            await verification(of: tenant).value
        }
        if !unverified.isEmpty, !verifyAgain.isArmed { verifyAgain.arm(after: .seconds(1)) }
    }

    private func verification(of tenant: TenantID) -> Task<Void, Never> {
        if let running = verifications[tenant] { return running }
        let begun = LoopActor.start { [self] in
            await verify(tenant)
            verifications[tenant] = nil
        }
        verifications[tenant] = begun
        return begun
    }

    private func verify(_ tenant: TenantID) async {
        let records = (unverified[tenant]?.files ?? []).compactMap { files[$0]?.newest }
        let found = await contents.removeDamaged(among: records)
        for record in found.removed {
            guard var file = files[record.id]?.newest, !deleting.contains(file.id)
            else { continue }
            log.write(
                .error, "a staged file is damaged: its upload begins anew",
                ["file": .name("\(file.id)"), "length": .number(Int(file.length))])
            file.length = 0
            file.isComplete = false
            quota.fit(file)
            put(file)
        }
        guard var rest = unverified[tenant] else { return }
        rest.files.subtract((found.sound + found.removed).map(\.id))
        rest.files = rest.files.filter { files[$0] != nil }
        // That its place is away the place itself says, once.
        if let error = found.failure, !rest.hasFailed, (error as? FileError)?.isAway != true {
            rest.hasFailed = true
            log.write(
                .error, "staged files cannot be looked at: it is tried again",
                ["tenant": .number(Int(tenant.rawValue)), "error": .words("\(error)")])
        }
        unverified[tenant] = rest.files.isEmpty ? nil : rest
    }

    /// Looks for no more files; the gateway is about to stop.
    func stopRecovery() { verifyAgain.cancel() }

    /// Returns when nothing more becomes of the files of a tenant, which is not served any more, by
    /// `recover`.
    func endRecovery(of tenant: TenantID) async { await verifications[tenant]?.value }

    /// Brings a complete file to its place no longer, if that is on its way.
    func giveUpPut(of id: FileID) { contents.giveUpPut(of: .file(id)) }
}
