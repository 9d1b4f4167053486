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
    private var work: [ContentOwner: Work] = [:]
    /// Contents that are looked at side by side.
    private static let lookCount = 64

    /// A store of both.
    ///
    /// - Parameters:
    ///   - whole: keeps what is whole.
    ///   - folder: that of the spools.
    ///   - files: do the work on it; those of the spools, whose lanes are named.
    public nonisolated init(
        _ whole: any WholeContents, partsIn folder: ContentFolder, files: FileThreads
    ) {
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
        try await files.run(on: part.lane) { try part.settle() }
        do {
            try await whole.put(part) { work[owner]?.isUnwanted != true }
        } catch  where work[owner]?.isUnwanted == true {
            try? await whole.remove([owner])
            throw error
        }
        guard work[owner]?.isUnwanted != true else {
            try await whole.remove([owner])
            throw FileError("put", code: ENOENT)
        }
        try await files.run(on: part.lane) { [folder] in try folder.remove(owner.id, .part) }
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
        guard beginRemoval(owner) else {
            return parts.discard(owner, behind: lane, then: completion)
        }
        parts.discard(owner, behind: lane) { [self] in
            LoopActor.start { [self] in
                try? await whole.remove([owner])
                endRemoval(owner)
                completion?()
            }
        }
    }

    /// As the port says.
    public func discard(_ entry: ContentEntry) {
        guard entry.kind == .whole else { return parts.discard(entry) }
        guard beginRemoval(entry.owner) else { return }
        LoopActor.start { [self] in
            try? await whole.remove([entry.owner])
            endRemoval(entry.owner)
        }
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

    /// As the port says; asks the place only for what is whole.
    public func list(_ kinds: Set<ContentKind>) async throws -> [ContentEntry] {
        var entries = try await parts.list(kinds.subtracting([.whole]))
        if kinds.contains(.whole) { entries += try await whole.list() }
        return entries
    }

    /// As the port says.
    public func keepPart(
        of task: TaskID, in tenant: TenantID, length: Int64, since instant: KeptTime,
        behind lane: Int?
    ) async throws -> Bool {
        try await parts.keepPart(
            of: task, in: tenant, length: length, since: instant, behind: lane)
    }

    /// As the port says; a part that another machine has handed over is brought here.
    public func takePart(
        of source: TaskID, in tenant: TenantID, as task: TaskID
    ) async throws -> Int64? {
        if let length = try await parts.takePart(of: source, in: tenant, as: task) {
            return length
        }
        guard let content = try await open(.task(source)) else { return nil }
        try await makePart(of: .task(task), from: content, length: content.length)
        try await whole.remove([.task(source)])
        return content.length
    }

    /// As the port says: as a whole content of the same owner, which has none.
    public func handOver(_ entry: ContentEntry) async throws {
        if entry.kind == .kept, case .task(let task) = entry.owner, let tenant = entry.tenant {
            // Its name is that of a part from now on, also where the rest fails.
            _ = try await parts.takePart(of: task, in: tenant, as: task)
        }
        let owner = entry.owner
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
            let block = FileBlock(capacity: 1 << 20)
            let count = Int(min(Int64(block.capacity), length - offset))
            let bytes = try await content.read(at: offset, count: count)
            guard bytes.count == count else { throw FileError("pread", code: 0) }
            let start = offset
            try await files.run(on: lane) {
                _ = bytes.withUnsafeBytes { block.fill(from: $0) }
                try part.write(block, at: start)
            }
            offset += Int64(count)
        }
        try await files.run(on: lane) { try part.sync() }
    }

    /// As the port says.
    public func stopWaiting() { whole.stopWaiting() }
}
