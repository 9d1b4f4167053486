internal import Glibc
public import Loop
public import Semantics

/// Contents that are whole in a place of their own, and parts on this machine, in the folder where
/// spools write them. A part is removed once the whole is there for good.
///
/// What is put, and what is removed, of one owner goes one after the other.
public final class SplitContentStore: ContentStore {
    /// What is being done about one owner.
    private struct Work {
        var isPutting = false
        /// It was removed while it was put.
        var isUnwanted = false
        var removals = 0
        var waiters = Waiters()
    }

    private let whole: any WholeContents
    private let folder: ContentFolder
    private let files: FileThreads
    private let parts: LocalContentStore
    private let ahead: SentAhead
    private let sendsAhead: Bool
    private var work: [ContentOwner: Work] = [:]
    /// Contents that are looked at side by side.
    private static let lookCount = 64

    /// A store of both.
    ///
    /// - Parameters:
    ///   - whole: keeps what is whole.
    ///   - folder: that of the spools.
    ///   - files: do the work on it; those of the spools, whose lanes are named.
    ///   - sendsAhead: whether stretches of downloads go to the place before they are whole.
    public nonisolated init(
        _ whole: any WholeContents, partsIn folder: ContentFolder, files: FileThreads,
        sendsAhead: Bool = false
    ) {
        self.sendsAhead = sendsAhead
        ahead = SentAhead(to: whole, from: folder, files: files)
        self.whole = whole
        self.folder = folder
        self.files = files
        parts = LocalContentStore(in: folder, files: files)
    }

    // MARK: Whole contents

    /// As the port says. Waits as long as the place needs, and tries again itself what is worth it.
    public func put(_ part: FinishedPart) async throws {
        let owner = part.owner
        while let other = work[owner], other.isPutting || other.removals > 0 {
            await withCheckedContinuation { work[owner]?.waiters.add($0) }
        }
        work[owner, default: Work()].isPutting = true
        defer {
            work[owner]?.isPutting = false
            work[owner]?.isUnwanted = false
            settle(owner)
        }
        var part = part
        if case .task(let task) = owner { part.ahead = await ahead.settled(task) }
        try await files.run(on: part.lane) { [part] in try part.settle() }
        try await putWhenCertain(part)
        guard work[owner]?.isUnwanted != true else {
            try await removeOwn(owner)
            throw FileError("put", code: ENOENT)
        }
        try await files.run(on: part.lane) { [folder] in try folder.remove(owner.id, .part) }
    }

    /// Puts a content while no other machine can have put its own, of another entity perhaps.
    private func putWhenCertain(_ part: FinishedPart) async throws {
        let owner = part.owner
        while true {
            if let claim, await !claim.settled() { throw FileError("put", code: ESTALE) }
            var isStopped = false
            do {
                return try await whole.put(part) {
                    if claim?.isCertain == false { isStopped = true }
                    return !isStopped && work[owner]?.isUnwanted != true
                }
            } catch  where work[owner]?.isUnwanted == true {
                try? await removeOwn(owner)
                throw error
            } catch {
                guard isStopped else { throw error }
            }
        }
    }

    /// As the port says.
    public func open(_ owner: ContentOwner) async throws -> (any OpenContent)? {
        if let work = work[owner], work.isUnwanted || work.removals > 0 { return nil }
        return try await whole.open(owner)
    }

    /// As the port says.
    public func copy(_ source: ContentOwner, to target: ContentOwner) async throws {
        try await whole.copy(source, to: target)
    }

    // MARK: Removal

    /// As the port says.
    public func remove(_ owners: [ContentOwner]) async throws {
        owners.forEach(forgetAhead)
        let asked = owners.filter(beginRemoval)
        defer { for owner in asked { endRemoval(owner) } }
        var failure: (any Error)?
        do {
            try await parts.remove(owners)
        } catch {
            failure = error
        }
        do {
            try await whole.remove(asked)
        } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// As the port says.
    public func discard(
        _ owner: ContentOwner, behind lane: Int?, then completion: (@LoopActor () -> Void)?
    ) {
        forgetAhead(of: owner)
        guard beginRemoval(owner) else {
            return parts.discard(owner, behind: lane, then: completion)
        }
        parts.discard(owner, behind: lane) { [self] in
            LoopActor.start { [self] in
                try? await removeOwn(owner)
                endRemoval(owner)
                completion?()
            }
        }
    }

    /// As the port says.
    public func discard(_ entry: ContentEntry) {
        switch entry.kind {
        case .part, .kept: return parts.discard(entry)
        case .ahead: return ahead.sweep(entry.owner)
        case .whole: break
        }
        guard beginRemoval(entry.owner) else { return }
        LoopActor.start { [self] in
            try? await removeOwn(entry.owner)
            endRemoval(entry.owner)
        }
    }

    /// Removes a whole content, unless another machine has got it by now.
    private func removeOwn(_ owner: ContentOwner) async throws {
        if await claim?.settled() != false { try await whole.remove([owner]) }
    }

    /// - Returns: false where the content is being put: then that removes it.
    private func beginRemoval(_ owner: ContentOwner) -> Bool {
        if work[owner]?.isPutting == true {
            work[owner]?.isUnwanted = true
            return false
        }
        work[owner, default: Work()].removals += 1
        return true
    }

    private func endRemoval(_ owner: ContentOwner) {
        work[owner]?.removals -= 1
        settle(owner)
    }

    private func settle(_ owner: ContentOwner) {
        guard var state = work[owner], !state.isPutting, state.removals == 0 else { return }
        work[owner] = nil
        state.waiters.wakeAll()
    }

    // MARK: Parts and housekeeping

    /// As the port says; asks the place only for what is there.
    public func list(_ kinds: Set<ContentKind>) async throws -> [ContentEntry] {
        let elsewhere: Set<ContentKind> = [.whole, .ahead]
        var entries = try await parts.list(kinds.subtracting(elsewhere))
        if !kinds.isDisjoint(with: elsewhere) {
            entries += try await whole.list().filter { kinds.contains($0.kind) }
        }
        return entries
    }

    /// As the port says.
    public func keepPart(
        of task: TaskID, in tenant: TenantID, length: Int64, since instant: KeptTime,
        behind lane: Int?
    ) async throws -> Bool {
        ahead.rest(task)
        return try await parts.keepPart(
            of: task, in: tenant, length: length, since: instant, behind: lane)
    }

    /// As the port says. What another machine has handed over is brought here as a whole, and so is
    /// what was whole and not recorded when its node was lost; else what was sent ahead.
    public func takePart(
        of checkpoint: DownloadCheckpoint, in tenant: TenantID, as task: TaskID,
        noting note: @LoopActor (DownloadCheckpoint) async -> Bool
    ) async throws -> DownloadCheckpoint? {
        let source = checkpoint.part
        if let taken = try await parts.takePart(
            of: checkpoint, in: tenant, as: task, noting: note)
        {
            if source == task { await ahead.learn(taken) }
            return taken
        }
        guard let content = try await open(.task(source)) else {
            return source == task ? try await ahead.bring(checkpoint, noting: note) : nil
        }
        guard content.length >= checkpoint.point.received.last?.upperBound ?? 0 else {
            // It was left by a hand-over, and more has come since.
            return source == task ? try await ahead.bring(checkpoint, noting: note) : nil
        }
        try await makePart(of: .task(task), from: content, length: content.length)
        try await whole.remove([.task(source)])
        if let series = checkpoint.series { ahead.forget(source, in: series) }
        return DownloadCheckpoint(point: checkpoint.point, part: task)
    }

    /// As the port says.
    public func sendAhead(
        _ point: ResumePoint, of task: TaskID, in series: Int64?
    ) -> Int64? {
        sendsAhead ? ahead.note(point, of: task, in: series) : series
    }

    /// As the port says.
    public func forgetAhead(of task: TaskID, in series: Int64?) {
        if let series { ahead.forget(task, in: series) } else { ahead.forget(task) }
    }

    private func forgetAhead(of owner: ContentOwner) {
        if case .task(let task) = owner { ahead.forget(task) }
    }

    /// As the port says.
    public func letGo(of tasks: [TaskID]) { tasks.forEach(ahead.letGo) }

    /// As the port says.
    public var claim: (any ContentClaim)? {
        get { ahead.claim }
        set { ahead.claim = newValue }
    }

    /// As the port says: as a whole content of the same owner, which has none, where nothing was
    /// sent ahead.
    public func handOver(_ entry: ContentEntry) async throws {
        if entry.kind == .kept, case .task(let task) = entry.owner, let tenant = entry.tenant {
            // Its name is that of a part from now on, also where the rest fails.
            _ = try await files.run { [folder] in try folder.take(task, in: tenant, as: task) }
        }
        let owner = entry.owner
        if entry.kind == .part, case .task(let task) = owner,
            try await ahead.sendRest(of: task)
        {
            return try await files.run { [folder] in try folder.remove(owner.id, .part) }
        }
        guard
            entry.kind != .whole,
            let length = try await files.run({ [folder] in
                try folder.length(of: owner.id, .part)
            })
        else { return }
        try await put(
            FinishedPart(
                owner: owner, length: length,
                file: ContentFile(continuing: owner, in: folder, digest: nil),
                lane: files.makeLane()))
    }

    /// As the port says: nothing is removed before all have been looked at.
    public func removeDamaged(among staged: [StagedFile]) async throws -> [StagedFile] {
        var damaged: [StagedFile] = []
        var returning: [StagedFile] = []
        for start in stride(from: 0, to: staged.count, by: Self.lookCount) {
            let slice = staged[start..<min(staged.count, start + Self.lookCount)]
            let looks = slice.map { file in
                (file, LoopActor.start { [self] in try await look(at: file) })
            }
            for (file, look) in looks {
                switch try await look.value {
                case .sound: break
                case .returns: returning.append(file)
                case .damaged: damaged.append(file)
                }
            }
        }
        for file in returning { try await makePart(of: file) }
        try await remove(damaged.map { .file($0.id) })
        return damaged
    }

    private enum Finding {
        case sound
        /// Whole, with the record of a part.
        case returns
        case damaged
    }

    private func look(at file: StagedFile) async throws -> Finding {
        let owner = ContentOwner.file(file.id)
        if file.isComplete {
            return try await whole.length(of: owner) == file.length ? .sound : .damaged
        }
        if file.length == 0 { return .sound }
        let part = try await files.run { [folder] in try folder.length(of: file.id, .part) }
        if part ?? 0 >= file.length { return .sound }
        return try await whole.length(of: owner) ?? 0 >= file.length ? .returns : .damaged
    }

    /// Brings a whole file back to this machine, as far as its record goes: a crash came between
    /// its last byte and its commit, or another machine has handed it over.
    private func makePart(of file: StagedFile) async throws {
        let owner = ContentOwner.file(file.id)
        try await makePart(of: owner, from: openKnown(owner), length: file.length)
        try await whole.remove([owner])
    }

    /// Writes the first bytes of a content to this machine, as the part of an owner.
    private func makePart(
        of owner: ContentOwner, from content: any OpenContent, length: Int64
    ) async throws {
        let part = ContentFile(at: .named(folder, owner), digest: nil)
        let lane = files.makeLane()
        var offset: Int64 = 0
        while offset < length {
            let count = Int(min(1 << 20, length - offset))
            let bytes = try await content.read(at: offset, count: count)
            guard bytes.count == count else { throw FileError("pread", code: 0) }
            let start = offset
            try await files.run(on: lane) { try part.write(bytes, at: start) }
            offset += Int64(count)
        }
        try await files.run(on: lane) { try part.sync() }
    }

    /// As the port says.
    public func stopWaiting() {
        ahead.stop()
        whole.stopWaiting()
    }
}
