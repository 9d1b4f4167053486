internal import Diagnostics
internal import Files
internal import Glibc
public import Loop
public import Semantics

/// Contents that are whole in a place of their own, and parts on this machine, in the folder where
/// spools write them.
///
/// What is put, and what is removed, of one owner goes one after the other. Where other nodes have
/// theirs in the place, too, every put has a name of its own (`ContentName`), and the part stays
/// until the record tells of it; else it goes once the whole is there for good.
public final class SplitContentStore: ContentStore {
    /// What is being done about one owner.
    private struct Work {
        /// What is being put.
        var putting: ContentName?
        /// It was removed while it was put, or others go on with it.
        var isUnwanted = false
        /// What is being put is in its place, and its part is on its way out.
        var isThere = false
        /// What is being removed, each time that it is.
        var removing: [ContentName] = []
        var waiters = Waiters()
    }

    private let whole: any WholeContents
    private let folder: ContentFolder
    private let files: FileThreads
    private let parts: LocalContentStore
    private let ahead: SentAhead
    private let isShared: Bool
    private var work: [ContentOwner: Work] = [:]
    /// Parts that are here though all of them is in the place, by where their file work is done.
    private var leftParts: [ContentOwner: Int] = [:]
    /// Those of them that are being removed.
    private var leavingParts: [ContentOwner: Task<Void, Never>] = [:]
    /// What was to be removed from the place, and could not be: no more names than it has contents.
    private var owed: Set<ContentName> = []
    /// Where other machines may have got what this one has; nil where there are none.
    public var claim: (any ContentClaim)? {
        didSet { ahead.claim = claim }
    }
    /// Contents that are looked at side by side.
    private static let lookCount = 64
    private let log = Log("engine.content")

    /// A store of both.
    ///
    /// - Parameters:
    ///   - whole: keeps what is whole.
    ///   - folder: that of the spools.
    ///   - files: do the work on it; those of the spools, whose lanes are named.
    ///   - isShared: whether other nodes have their contents in the place, too: then stretches of
    ///     downloads go there before they are whole, and each put has a series.
    public nonisolated init(
        _ whole: any WholeContents, partsIn folder: ContentFolder, files: FileThreads,
        isShared: Bool = false
    ) {
        self.isShared = isShared
        ahead = SentAhead(to: whole, from: folder, files: files)
        self.whole = whole
        self.folder = folder
        self.files = files
        parts = LocalContentStore(in: folder, files: files)
    }

    // MARK: Whole contents

    /// As the port says. Waits as long as the place needs, and tries again itself what is worth it.
    public func put(_ part: FinishedPart) async throws -> Int64? {
        try await put(part, in: isShared ? .random(in: 1 ... .max) : nil)
    }

    private func put(_ part: FinishedPart, in series: Int64?) async throws -> Int64? {
        var part = part
        part.series = series
        let (owner, name) = (part.owner, part.name)
        while let other = work[owner], other.putting != nil || !other.removing.isEmpty {
            await withCheckedContinuation { work[owner]?.waiters.add($0) }
        }
        work[owner, default: Work()].putting = name
        owed.remove(name)
        defer {
            work[owner]?.putting = nil
            work[owner]?.isUnwanted = false
            work[owner]?.isThere = false
            settle(owner)
        }
        if case .task(let task) = owner { part.ahead = await ahead.settled(task) }
        try await files.run(on: part.lane) { [part] in try part.settle() }
        do {
            try await whole.put(part) { work[owner]?.isUnwanted != true }
            if !isShared, work[owner]?.isUnwanted != true {
                work[owner]?.isThere = true
                try await files.run(on: part.lane) { [folder] in
                    try folder.remove(owner.id, .part)
                }
            }
            // Behind the last wait: who removes it later finds nothing being put.
            if work[owner]?.isUnwanted == true { throw FileError("put", code: ENOENT) }
        } catch  where work[owner]?.isUnwanted == true {
            await removing(name) { try await removeWhole([name]) }
            throw error
        }
        if isShared { leftParts[owner] = part.lane }
        return series
    }

    /// As the port says.
    public func open(_ content: ContentName) async throws -> (any OpenContent)? {
        if let work = work[content.owner],
            work.removing.contains(content) || (work.isUnwanted && work.putting == content)
        {
            return nil
        }
        // Another node may have put it again.
        guard isShared || !owed.contains(content) else { return nil }
        return try await whole.open(content)
    }

    /// As the port says.
    public func copy(_ source: ContentName, to target: ContentName) async throws {
        owed.remove(target)
        try await whole.copy(source, to: target)
    }

    // MARK: Removal

    /// As the port says.
    public func remove(_ contents: [ContentName]) async throws {
        contents.forEach { forgetAhead(of: $0.owner) }
        let asked = contents.filter(beginRemoval)
        defer { for content in asked { endRemoval(content) } }
        var failure: (any Error)?
        do {
            try await parts.remove(contents)
        } catch {
            failure = error
        }
        do {
            try await removeWhole(asked)
        } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// As the port says.
    public func remove(_ parts: [ContentEntry]) async throws {
        try await self.parts.remove(parts)
    }

    /// As the port says.
    public func discard(
        _ content: ContentName, behind lane: Int?, then completion: (@LoopActor () -> Void)?
    ) {
        forgetAhead(of: content.owner)
        guard beginRemoval(content) else {
            return parts.discard(content, behind: lane, then: completion)
        }
        parts.discard(content, behind: lane) { [self] in
            LoopActor.start { [self] in
                await removing(content) { try await removeOwn(content) }
                endRemoval(content)
                completion?()
            }
        }
    }

    /// As the port says.
    public func discard(_ entry: ContentEntry) {
        switch entry.kind {
        case .part, .kept: return parts.discard(entry)
        case .ahead: return ahead.sweep(entry.owner)
        case .whole: discardWhole(entry.name)
        }
    }

    /// Removes a whole content and nothing else, some time.
    private func discardWhole(_ content: ContentName) {
        guard beginRemoval(content, isSwept: true) else { return }
        LoopActor.start { [self] in
            await removing(content) { try await removeOwn(content) }
            endRemoval(content)
        }
    }

    /// Removes a whole content, unless another machine relies on it by now.
    private func removeOwn(_ content: ContentName) async throws {
        if await claim?.settled() != false { try await removeWhole([content]) }
    }

    /// Removes whole contents, or owes it.
    private func removeWhole(_ contents: [ContentName]) async throws {
        do {
            try await whole.remove(contents)
            owed.subtract(contents)
        } catch {
            owed.formUnion(contents)
            throw error
        }
    }

    /// Removes a content for one who does not hear of a failure. An outage is told once.
    private func removing(
        _ content: ContentName, _ remove: @LoopActor () async throws -> Void
    ) async {
        let isTold = owed.count > (owed.contains(content) ? 1 : 0)
        do {
            try await remove()
        } catch {
            guard !isTold else { return }
            log.write(
                .warning, "a content cannot be removed: housekeeping tries it again",
                ["content": .name("\(content.owner.id)"), "error": .words("\(error)")])
        }
    }

    /// As the port says.
    public func owesRemoval(of content: ContentName) -> Bool {
        owed.contains(content) || whole.leftBehind.contains(content)
    }

    /// - Parameters:
    ///   - content: what goes.
    ///   - isSwept: whether it alone goes, whatever is being put of its owner.
    /// - Returns: false where that very content is being put: then the put removes it.
    private func beginRemoval(_ content: ContentName, isSwept: Bool) -> Bool {
        if let putting = work[content.owner]?.putting {
            if !isSwept || putting == content { work[content.owner]?.isUnwanted = true }
            if putting == content { return false }
        }
        work[content.owner, default: Work()].removing.append(content)
        return true
    }

    private func beginRemoval(_ content: ContentName) -> Bool {
        beginRemoval(content, isSwept: false)
    }

    private func endRemoval(_ content: ContentName) {
        if let index = work[content.owner]?.removing.firstIndex(of: content) {
            work[content.owner]?.removing.remove(at: index)
        }
        settle(content.owner)
    }

    private func settle(_ owner: ContentOwner) {
        guard var state = work[owner], state.putting == nil, state.removing.isEmpty else { return }
        work[owner] = nil
        state.waiters.wakeAll()
    }

    // MARK: Parts and housekeeping

    /// As the port says; asks the place only for what is there.
    public func list(_ kinds: Set<ContentKind>) async throws -> [ContentEntry] {
        let elsewhere: Set<ContentKind> = [.whole, .ahead]
        let entries = try await parts.list(kinds.subtracting(elsewhere))
        guard !kinds.isDisjoint(with: elsewhere) else { return entries }
        let owedBefore = owed
        let found = try await whole.list()
        // What is not there any more is not owed, either.
        owed.subtract(owedBefore.subtracting(found.lazy.filter { $0.kind == .whole }.map(\.name)))
        return entries + found.filter { kinds.contains($0.kind) }
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

    /// As the port says: what another machine has sent ahead. A part that was kept for another
    /// download is there as a whole where it was handed over, and so is one that was whole and not
    /// recorded when a gateway ended that had the place alone.
    public func takePart(
        of checkpoint: DownloadCheckpoint, in tenant: TenantID, as task: TaskID,
        noting note: @LoopActor (DownloadCheckpoint) async -> Bool
    ) async throws -> DownloadCheckpoint? {
        let source = checkpoint.part
        await leavingParts[.task(source)]?.value
        if let taken = try await parts.takePart(
            of: checkpoint, in: tenant, as: task, noting: note)
        {
            if source == task { await ahead.learn(taken, of: tenant) }
            return taken
        }
        do {
            let content = try await open(.task(source))
            // Where it is too short it was left by a hand-over, and more has come since.
            guard let content, content.length >= checkpoint.point.received.last?.upperBound ?? 0
            else {
                // What is not there may be given up: unlike `open`, this looks at the place now.
                if content == nil { _ = try await whole.length(of: .task(source)) }
                return source == task
                    ? try await ahead.bring(checkpoint, of: tenant, noting: note) : nil
            }
            try await makePart(of: .task(task), from: content, length: content.length)
        }
        await settleReaders()
        discardWhole(.task(source))
        if let series = checkpoint.series { ahead.forget(source, in: series) }
        return DownloadCheckpoint(point: checkpoint.point, part: task)
    }

    /// As the port says.
    public func sendAhead(
        _ point: ResumePoint, of task: TaskID, for tenant: TenantID, in series: Int64?
    ) -> Int64? {
        isShared ? ahead.note(point, of: task, for: tenant, in: series) : series
    }

    /// As the port says.
    public func forgetAhead(of task: TaskID, in series: Int64?) {
        if let lane = leftParts.removeValue(forKey: .task(task)) {
            removePart(of: .task(task), on: lane)
        } else if isShared, series != nil {
            // An earlier process may have left it.
            removePart(of: .task(task), on: files.makeLane())
        }
        if let series { ahead.forget(task, in: series) } else { ahead.forget(task) }
    }

    private func forgetAhead(of owner: ContentOwner) {
        leftParts[owner] = nil
        if case .task(let task) = owner { ahead.forget(task) }
    }

    /// As the port says.
    public func forgetPart(of owner: ContentOwner) {
        if let lane = leftParts.removeValue(forKey: owner) { removePart(of: owner, on: lane) }
    }

    private func removePart(of owner: ContentOwner, on lane: Int) {
        guard leavingParts[owner] == nil else { return }
        leavingParts[owner] = LoopActor.start { [self] in
            defer { leavingParts[owner] = nil }
            await LoopActor.nextTurn()
            // A node that was lost may get the tenant back, and go on with the part.
            if let claim, await !claim.settled() { return }
            do {
                try await files.run(on: lane) { [folder] in try folder.remove(owner.id, .part) }
            } catch {
                log.write(
                    .warning, "a part that nobody needs stays until its task is forgotten",
                    ["owner": .name("\(owner.id)"), "error": .words("\(error)")])
            }
        }
    }

    /// How many downloads it knows something of that was sent ahead; for tests.
    var sendingCount: Int { ahead.count }

    /// As the port says.
    public func giveUpPut(of owner: ContentOwner) {
        guard let state = work[owner], state.putting != nil, !state.isThere else { return }
        work[owner]?.isUnwanted = true
    }

    /// As the port says.
    public func letGo(of tenant: TenantID, _ tasks: [TaskID]) {
        ahead.letGo(of: tenant)
        for task in tasks {
            leftParts[.task(task)] = nil
            giveUpPut(of: .task(task))
        }
    }

    /// As the port says: the part of a task that goes on in stretches, what else there is as a
    /// whole.
    public func handOver(
        _ entry: ContentEntry, of checkpoint: DownloadCheckpoint?, in tenant: TenantID
    ) async throws -> Int64? {
        let owner = entry.owner
        await leavingParts[owner]?.value
        if let checkpoint {
            let series = try await ahead.sendRest(checkpoint, of: tenant)
            leftParts[owner] = files.makeLane()
            return series
        }
        if entry.kind == .kept, case .task(let task) = owner {
            // Its name is that of a part from now on, also where the rest fails.
            _ = try await files.run { [folder] in try folder.take(task, in: tenant, as: task) }
        }
        guard
            let length = try await files.run({ [folder] in
                try folder.length(of: owner.id, .part)
            })
        else { return nil }
        let part = FinishedPart(
            owner: owner, length: length,
            file: ContentFile(continuing: owner, in: folder, digest: nil),
            lane: files.makeLane())
        guard case .task = owner else { return try await put(part) }
        // No record tells of what was kept for another download. It never changes: whoever puts it,
        // and however late, puts the same bytes.
        return try await put(part, in: nil)
    }

    /// As the port says: nothing is removed before all have been looked at, and nothing at all
    /// where the place is away.
    public func removeDamaged(among staged: [StagedFile]) async -> StagedFindings {
        var findings = StagedFindings()
        var damaged: [StagedFile] = []
        var returning: [StagedFile] = []
        for start in stride(from: 0, to: staged.count, by: Self.lookCount) {
            let slice = staged[start..<min(staged.count, start + Self.lookCount)]
            let looks = slice.map { file in
                (file, LoopActor.start { [self] in try await look(at: file) })
            }
            for (file, look) in looks {
                switch await look.result {
                case .success(.sound): findings.sound.append(file)
                case .success(.returns): returning.append(file)
                case .success(.damaged): damaged.append(file)
                case .failure(let error): findings.note(file, .failure(error))
                }
            }
            if (findings.failure as? FileError)?.isAway == true { return findings }
        }
        // One by one: of each it must be known what has become of it.
        for file in returning {
            do {
                try await makePart(of: file)
                findings.note(file, .success(true))
            } catch {
                findings.note(file, .failure(error))
            }
        }
        for file in damaged {
            do {
                try await remove([file.content])
                findings.note(file, .success(false))
            } catch {
                findings.note(file, .failure(error))
            }
        }
        return findings
    }

    private enum Finding {
        case sound
        /// Whole, with the record of a part.
        case returns
        case damaged
    }

    private func look(at file: StagedFile) async throws -> Finding {
        if file.isComplete {
            return try await whole.length(of: file.content) == file.length ? .sound : .damaged
        }
        if file.length == 0 { return .sound }
        await leavingParts[.file(file.id)]?.value
        let part = try await files.run { [folder] in try folder.length(of: file.id, .part) }
        if part ?? 0 >= file.length { return .sound }
        return try await whole.length(of: file.content) ?? 0 >= file.length ? .returns : .damaged
    }

    /// Brings a whole file back to this machine, as far as its record goes: a crash came between
    /// its last byte and its commit, or another machine has handed it over.
    private func makePart(of file: StagedFile) async throws {
        try await makePart(
            of: .file(file.id), from: openKnown(file.content), length: file.length)
        await settleReaders()
        try await removeOwn(file.content)
    }

    /// Returns when the place knows which readers have gone: what nobody reads is removed at once,
    /// and not some time later.
    private func settleReaders() async { await LoopActor.nextTurn() }

    /// Writes the first bytes of a content to this machine, as the part of an owner. Where that
    /// fails no part is left: what is appended to one that is too short would leave a hole.
    private func makePart(
        of owner: ContentOwner, from content: any OpenContent, length: Int64
    ) async throws {
        let lane = files.makeLane()
        do {
            try await writePart(of: owner, from: content, length: length, on: lane)
        } catch {
            try? await files.run(on: lane) { [folder] in try folder.remove(owner.id, .part) }
            throw error
        }
    }

    private func writePart(
        of owner: ContentOwner, from content: any OpenContent, length: Int64, on lane: Int
    ) async throws {
        let part = ContentFile(at: .named(folder, owner), digest: nil)
        var offset: Int64 = 0
        while offset < length {
            guard !Task.isCancelled else { throw FileError("read", code: ECANCELED) }
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
