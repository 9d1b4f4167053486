internal import Diagnostics
internal import Loop
public import Semantics

/// Staged files: what clients send ahead of the tasks that upload it.
extension Gateway {
    /// Creates a file without a byte, to be appended to; durable when it returns. The ticket keeps
    /// the key of the request that asks for it.
    public func createFile(
        _ spec: StagedFileSpec, of tenant: TenantID, as ticket: CreationTicket? = nil
    ) async throws(GatewayError) -> StagedFile {
        let file = try admit(spec, tenant)
        ticket?.record([file.id.rawValue], in: durable)
        guard await durable.caughtUp() else {
            LoopActor.start { [self] in
                await durable.durable()
                newFiles.remove(file.id)
            }
            throw .diskFull
        }
        newFiles.remove(file.id)
        return file
    }

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
    ///   there), `fileTooLarge`, `quotaExceeded`, `diskFull`, `uploadSuperseded`.
    public func append(
        _ order: FileAppend, to id: FileID, of tenant: TenantID, from feed: ByteFeed
    ) async throws(UploadInterruption) -> StagedFile {
        do {
            try journals.refuseWhenFull(isPersistent: true)
            let upload = try await beginUpload(order, id, tenant, feed)
            try await upload.run(completes: order.completes)
            return upload.file
        } catch {
            let file = stagedFiles[id].flatMap { $0.tenant == tenant ? $0 : nil }
            throw UploadInterruption(cause: error, file: file)
        }
    }

    /// A file with what of it is there for good, as bytes may still be coming.
    public func fileRecord(
        _ id: FileID, of tenant: TenantID
    ) throws(GatewayError) -> StagedFile {
        try known(id, tenant)
    }

    /// A file as it is now, its length being the offset that an append is accepted at. An earlier
    /// request that still appends is ended.
    public func file(_ id: FileID, of tenant: TenantID) async throws(GatewayError) -> StagedFile {
        _ = try known(id, tenant)
        await endUpload(of: id)
        return try known(id, tenant)
    }

    /// A file that something may be begun with: an earlier request that still appends to it is
    /// ended, and one that is being removed is gone first.
    private func usable(_ id: FileID, _ tenant: TenantID) async throws(GatewayError) -> StagedFile {
        let file = try await file(id, of: tenant)
        guard deletingFiles.contains(id) else { return file }
        await durable.caughtUp()
        // Gone, or without room to note that.
        _ = try known(id, tenant)
        throw .diskFull
    }

    /// The tenant's files in the order of creation, with what of them is there for good.
    public func files(of tenant: TenantID, after: FileID?, limit: Int) async -> [StagedFile] {
        await durable.caughtUp()
        let first = after?.rawValue ?? -1
        let files = stagedFiles.values.filter {
            $0.tenant == tenant && $0.id.rawValue > first && !newFiles.contains($0.id)
        }
        return Array(files.sorted { $0.id < $1.id }.prefix(limit))
    }

    /// The bytes of a complete file, which is used by that.
    public func openFile(
        _ id: FileID, of tenant: TenantID
    ) throws(GatewayError) -> StagedFileAccess {
        let file = try known(id, tenant)
        guard file.isComplete else { throw .uploadIncomplete }
        return StagedFileAccess(file: file) { [self] range throws(GatewayError) in
            let range = range ?? 0..<file.length
            let content = try await openStaged(id, length: file.length, of: tenant)
            return ContentStream(
                .file(content), from: range.lowerBound, to: range.upperBound, files: parts.files)
        }
    }

    /// Removes a file, complete or not, or damaged, for good when it returns. A task that has begun
    /// to send it goes on.
    ///
    /// - Throws: `noSuchFile`; `diskFull` where there is no room to note it.
    public func deleteFile(_ id: FileID, of tenant: TenantID) async throws(GatewayError) {
        if damagedFiles[id] != tenant { _ = try await usable(id, tenant) }
        if durable.isStalled { throw .diskFull }
        guard await forget(id) else { throw .diskFull }
    }

    /// The most bytes that a file may have.
    public var fileSizeLimit: Int64 { limits.stagedBytes }

    /// What the wall clock will show when a file is forgotten, unless the file is used or the clock
    /// is set before.
    public func expiry(of file: StagedFile) -> Timestamp { keptClock.wall(at: end(of: file)) }

    /// How long a file is still kept, unless it is used before.
    public func timeToLive(of file: StagedFile) -> Duration {
        max(.zero, end(of: file).since(keptClock.now))
    }

    private func end(of file: StagedFile) -> KeptTime {
        file.usedAt.advanced(by: file.isComplete ? limits.stagedRetention : limits.partialRetention)
    }

    /// The bytes of a complete file, for a task that sends it, or a client that reads it.
    func openStaged(
        _ id: FileID, length: Int64, of tenant: TenantID
    ) async throws(GatewayError) -> ContentFile {
        let file = try known(id, tenant)
        guard file.isComplete, file.length == length else { throw .noSuchFile }
        noteUse(of: file)
        let folder = parts.folder
        do {
            return try await parts.files.runOpening { try ContentFile(reading: id, in: folder) }
        } catch {
            log.write(.error, "a staged file cannot be opened", ["error": .words("\(error)")])
            throw .noSuchFile
        }
    }

    // MARK: Uploads

    private func known(_ id: FileID, _ tenant: TenantID) throws(GatewayError) -> StagedFile {
        guard let file = stagedFiles[id], file.tenant == tenant else {
            throw damagedFiles[id] == tenant ? .damaged : .noSuchFile
        }
        return file
    }

    private func admit(
        _ spec: StagedFileSpec, _ tenant: TenantID
    ) throws(GatewayError) -> StagedFile {
        try journals.refuseWhenFull(isPersistent: true)
        let file = StagedFile(
            id: identifiers.next(), tenant: tenant, announcedLength: spec.announcedLength,
            expectedDigest: spec.expectedDigest, mediaType: spec.mediaType,
            createdAt: parts.clock.now, usedAt: keptClock.now)
        try requireSize(spec.announcedLength)
        guard fileQuota.admit(file) else { throw .quotaExceeded }
        stagedFiles[file.id] = file
        newFiles.insert(file.id)
        durable.save(file)
        return file
    }

    /// Judges a request, and takes the file for it.
    private func beginUpload(
        _ order: FileAppend, _ id: FileID, _ tenant: TenantID, _ feed: ByteFeed
    ) async throws(GatewayError) -> FileUpload {
        let file = try await usable(id, tenant)
        guard fileUploads[id] == nil else { throw .diskFull }
        guard !file.isComplete else { throw .uploadCompleted }
        guard order.offset == file.length else {
            throw .wrongOffset(expected: file.length, provided: order.offset)
        }
        let announced = try file.announced(also: order)
        try requireSize(announced)
        let digest = try file.digest(also: order.expectedDigest)
        if let announced, !fileQuota.raise(id, to: announced) { throw .quotaExceeded }
        let upload = FileUpload(file.expecting(announced, digest), from: feed, of: self)
        fileUploads[id] = upload
        return upload
    }

    private func requireSize(_ length: Int64?) throws(GatewayError) {
        guard length ?? 0 <= limits.stagedBytes else {
            throw .fileTooLarge(limit: limits.stagedBytes)
        }
    }

    /// Ends what an earlier request does to a file (draft-ietf-httpbis-resumable-upload,
    /// Concurrency). Afterwards only an upload is left that waits for room in the store.
    private func endUpload(of id: FileID) async {
        while let upload = fileUploads[id], !upload.isParked { await upload.end(.uploadSuperseded) }
    }
}
