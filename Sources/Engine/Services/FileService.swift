public import Loop
public import Semantics

/// Staged files: what clients send ahead of the tasks that upload it.
@LoopActor
public final class FileService {
    let staged: StagedFiles
    /// What requests append to staged files just now.
    private var uploads: [FileID: FileUpload] = [:]
    private let tasks: TaskDirectory
    private let queues: CommitQueues
    private let identifiers: IdentifierSource
    private let clock: KeptClock
    private let spools: Spools
    private let limits: GatewayLimits

    init(
        _ staged: StagedFiles, tasks: TaskDirectory, queues: CommitQueues,
        identifiers: IdentifierSource, clock: KeptClock, spools: Spools, limits: GatewayLimits
    ) {
        self.staged = staged
        self.tasks = tasks
        self.queues = queues
        self.identifiers = identifiers
        self.clock = clock
        self.spools = spools
        self.limits = limits
    }

    /// Creates a file without a byte, to be appended to; durable when it returns. The ticket keeps
    /// the key of the request that asks for it.
    public func create(
        _ spec: StagedFileSpec, of tenant: TenantID, as ticket: CreationTicket? = nil
    ) async throws(GatewayError) -> StagedFile {
        let file = try admit(spec, tenant)
        try await queues.onDisk.acknowledged([file.id.rawValue], under: ticket)
        return file
    }

    private func admit(
        _ spec: StagedFileSpec, _ tenant: TenantID
    ) throws(GatewayError) -> StagedFile {
        try queues.refuseWhenFull(isPersistent: true)
        guard staged.served.contains(tenant) else { throw .tenantIsMoving }
        let file = StagedFile(
            id: identifiers.next(), tenant: tenant, announcedLength: spec.announcedLength,
            expectedDigest: spec.expectedDigest, mediaType: spec.mediaType,
            createdAt: spools.clock.now, usedAt: clock.now)
        try staged.requireSize(spec.announcedLength)
        try staged.insert(file)
        return file
    }

    /// A file with what of it is there for good, as bytes may still be coming.
    public func record(_ id: FileID, of tenant: TenantID) throws(GatewayError) -> StagedFile {
        try staged.known(id, tenant)
    }

    /// A file as it is now, its length being the offset that an append is accepted at. An earlier
    /// request that still appends is ended.
    public func read(_ id: FileID, of tenant: TenantID) async throws(GatewayError) -> StagedFile {
        _ = try staged.known(id, tenant)
        await endUpload(of: id)
        return try staged.known(id, tenant)
    }

    /// The tenant's files in the order of creation, with what of them is there for good.
    public func list(of tenant: TenantID, after: FileID?, limit: Int) async -> [StagedFile] {
        await queues.onDisk.caughtUp()
        return staged.page(of: tenant, after: after, limit: limit)
    }

    /// The bytes of a complete file, which is used by that.
    public func open(_ id: FileID, of tenant: TenantID) throws(GatewayError) -> StagedFileAccess {
        let file = try staged.known(id, tenant)
        guard file.isComplete else { throw .uploadIncomplete }
        return StagedFileAccess(file: file) { [staged] range throws(GatewayError) in
            let range = range ?? 0..<file.length
            let content = try await staged.open(id, length: file.length, of: tenant)
            return ContentStream(
                .file(content), from: range.lowerBound, to: range.upperBound)
        }
    }

    /// Removes a file, complete or not, or damaged, for good when it returns. A task that has begun
    /// to send it goes on.
    ///
    /// - Throws: `noSuchFile`; `diskFull` where there is no room to note it.
    public func delete(_ id: FileID, of tenant: TenantID) async throws(GatewayError) {
        if !staged.isDamaged(id, tenant) { _ = try await usable(id, tenant) }
        try queues.onDisk.requireRoom()
        guard await staged.forget(id) else {
            throw .unconfirmed(isAway: queues.onDisk.isAway)
        }
    }

    /// A file that something may be begun with: an earlier request that still appends to it is
    /// ended, and one that is being removed is gone first.
    private func usable(_ id: FileID, _ tenant: TenantID) async throws(GatewayError) -> StagedFile {
        let file = try await read(id, of: tenant)
        guard staged.isDeleting(id) else { return file }
        await queues.onDisk.caughtUp()
        // Gone, or without room to note that.
        _ = try staged.known(id, tenant)
        throw queues.onDisk.stallError
    }

    /// The most bytes that a file may have.
    public var sizeLimit: Int64 { limits.stagedBytes }

    /// What the wall clock will show when a file is forgotten, unless the file is used or the clock
    /// is set before.
    public func expiry(of file: StagedFile) -> Timestamp { staged.expiry(of: file) }

    /// How long a file is still kept, unless it is used before.
    public func timeToLive(of file: StagedFile) -> Duration { staged.timeToLive(of: file) }

    // MARK: Uploads

    /// Appends the bytes of a request. An earlier request that still does is ended: its client has
    /// given it up.
    ///
    /// - Parameters:
    ///   - order: what the request does.
    ///   - id: the file.
    ///   - tenant: whose it is.
    ///   - feed: the bytes. What came before it throws is kept.
    /// - Returns: the file, durable with all bytes of the request.
    /// - Throws: the cause is what the feed has thrown, or `noSuchFile`, `uploadCompleted`,
    ///   `wrongOffset`, `inconsistentLength`, `digestMismatch` (the file is gone, if it was all
    ///   there), `fileTooLarge`, `quotaExceeded`, `overQuota`, `diskFull`,
    ///   `uploadSuperseded`.
    public func append(
        _ order: FileAppend, to id: FileID, of tenant: TenantID, from feed: ByteFeed
    ) async throws(UploadInterruption) -> StagedFile {
        do {
            try queues.refuseWhenFull(isPersistent: true)
            let upload = try await beginUpload(order, id, tenant, feed)
            try await upload.run(completes: order.completes)
            return upload.file
        } catch {
            let file = try? staged.known(id, tenant)
            throw UploadInterruption(cause: error, file: file)
        }
    }

    /// Judges a request, and takes the file for it.
    private func beginUpload(
        _ order: FileAppend, _ id: FileID, _ tenant: TenantID, _ feed: ByteFeed
    ) async throws(GatewayError) -> FileUpload {
        try await staged.verified(id, of: tenant)
        let file = try await usable(id, tenant)
        guard uploads[id] == nil else { throw .diskFull }
        guard !file.isComplete else { throw .uploadCompleted }
        guard order.offset == file.length else {
            throw .wrongOffset(expected: file.length, provided: order.offset)
        }
        let announced = try file.announced(also: order)
        try staged.requireSize(announced)
        let digest = try file.digest(also: order.expectedDigest)
        if let announced { try staged.raise(id, to: announced) }
        let upload = FileUpload(
            file.expecting(announced, digest), from: feed, to: staged, clock: clock,
            spools: spools
        ) { [weak self] in self?.uploadEnded(id) }
        uploads[id] = upload
        return upload
    }

    private func uploadEnded(_ id: FileID) {
        uploads[id] = nil
        staged.fit(id)
    }

    /// Ends what an earlier request does to a file (draft-ietf-httpbis-resumable-upload,
    /// Concurrency). Afterwards only an upload is left that waits for room in the store.
    private func endUpload(of id: FileID) async {
        while let upload = uploads[id], !upload.isParked { await upload.end(.uploadSuperseded) }
    }

    // MARK: Upkeep

    /// Removes all files of a tenant that is being deleted; those for which the store has no room
    /// go when there is some.
    func forgetAll(of tenant: TenantID) async {
        for id in staged.all(of: tenant) {
            await endUpload(of: id)
            await staged.forget(id)
        }
    }

    /// Ends all uploads with what has come; the gateway is about to stop.
    func endUploads() async {
        await all(Array(uploads.values)) { await $0.end(.uploadSuperseded) }
        staged.stopRecovery()
    }

    /// Returns when the files of a tenant that are on their way to their places are there, or after
    /// `limit`.
    func letFinish(_ tenant: TenantID, within limit: Duration) async {
        await all(uploads(of: tenant)) { await $0.completion(within: limit) }
    }

    /// Ends the uploads of a tenant that leaves this node, whose files become no part of another
    /// length here any more.
    func giveUpUploads(of tenant: TenantID) async {
        await all(uploads(of: tenant)) { await $0.giveUp() }
        await staged.endRecovery(of: tenant)
    }

    private func uploads(of tenant: TenantID) -> [FileUpload] {
        staged.all(of: tenant).compactMap { uploads[$0] }
    }

    /// Does something with uploads, side by side.
    private func all(
        _ uploads: [FileUpload], _ work: @escaping @LoopActor (FileUpload) async -> Void
    ) async {
        let tasks = uploads.map { upload in LoopActor.start { await work(upload) } }
        for task in tasks { await task.value }
    }

    /// Forgets files that nobody has used for their time to live, unless a live task sends them.
    func purge() async {
        await staged.purge {
            let sent = tasks.runners.values.compactMap { $0.record.currentRequest.body?.file }
            return Set(sent).union(uploads.keys)
        }
    }
}

extension BodyRecord {
    /// The staged file that it is.
    fileprivate var file: FileID? {
        if case .file(let id, _) = self { id } else { nil }
    }
}
