internal import Diagnostics
internal import Files
internal import Glibc
internal import Loop
internal import Semantics

/// Saves the whole content of a download in the folder that its client has named.
///
/// The content is staged first, then the store is told which file that is, then it gets its name,
/// and only then the task completes. Whatever a crash interrupts, the next start finds the content
/// where it was kept, or the file by its number.
@LoopActor
final class TaskSaving {
    private let task: LiveTask
    private let destination: SaveDestination

    init(of task: LiveTask, at destination: SaveDestination) {
        self.task = task
        self.destination = destination
    }

    private var control: (any TaskControl)? { task.control }
    private var folders: (any SaveFolders)? { task.services.saveFolders }

    /// Whether the file is getting its name at the moment.
    private var isPublishing = false
    /// Whether somebody wants the task to end when it has it.
    private var isEndAwaited = false
    /// Whether nobody has looked yet whether it can be saved.
    private(set) var mustCheck = true

    /// Fails where the content could not be saved, before a byte of it is fetched.
    func check() async throws(TransferError) {
        guard mustCheck else { return }
        do throws(SaveFault) {
            guard let folders else { throw .noFolder }
            let expected = max(
                task.record.options.countOfBytesClientExpectsToReceive,
                task.record.countOfBytesExpectedToReceive)
            try await folders.check(destination, length: expected < 0 ? nil : expected)
            mustCheck = false
        } catch {
            throw error.error(for: destination)
        }
    }

    /// A response has said how long the content is: the task fails at once where there is no room
    /// for it, and not when all of it has been fetched.
    func requireRoom(for length: Int64) {
        guard length > 0, let folders else { return }
        LoopActor.start { [self] in
            do throws(SaveFault) {
                try await folders.check(destination, length: length)
            } catch .noRoom {
                guard let control, !control.machine.isOver,
                    task.record.countOfBytesExpectedToReceive == length
                else { return }
                control.fail(SaveFault.noRoom.error(for: destination))
            } catch {
                // What else stands in its way may be gone when the content is here.
            }
        }
    }

    /// Saves a content that is whole and in its place; the machine hears when it is saved.
    ///
    /// - Parameter bytes: the content, where the spool had it in memory.
    func save(_ bytes: [UInt8]?) {
        guard let control else { return }
        untilDone { [self] folders throws(SaveFault) in
            let source = try await source(bytes)
            let staged = try await folders.stage(source, of: task.record.id, for: destination)
            guard isAwaited else { return discard() }
            task.record.saved = staged
            control.save()
            guard await task.session.commits.durable() else { return }
            try await publish(staged, in: folders)
        }
    }

    /// Goes on with what the end of the last process has interrupted.
    func goOn() {
        untilDone { [self] folders throws(SaveFault) in
            guard let file = task.record.saved else { throw .noFolder }
            switch try await folders.find(file, of: task.record.id, at: destination) {
            case .staged: try await publish(file, in: folders)
            case .published(let file): complete(file)
            case .gone: save(nil)
            }
        }
    }

    /// Takes a step, and again while what it needs is away; whatever else stands in its way fails
    /// the task.
    private func untilDone(
        _ step: @escaping @LoopActor (any SaveFolders) async throws(SaveFault) -> Void
    ) {
        LoopActor.start { [self] in
            var isTold = false
            while true {
                do throws(SaveFault) {
                    guard let folders else { throw .noFolder }
                    return try await step(folders)
                } catch .file(let error) where error.code == ECANCELED {
                    return  // the gateway stops: the next start goes on
                } catch  where error.isForLater && isAwaited {
                    if !isTold { note("a download waits to be saved in its folder", error) }
                    isTold = true
                } catch {
                    return fail(error)
                }
                await LoopActor.nextTurn(after: TaskSaving.interval)
                guard isAwaited else { return }
            }
        }
    }

    /// How long a content, or a folder, that is away is left alone.
    private static let interval = Duration.seconds(5)

    /// The task ends without its file.
    func discard() {
        folders?.discard(task.record.id, for: destination)
    }

    private func publish(
        _ file: SavedFile, in folders: any SaveFolders
    ) async throws(SaveFault) {
        guard isAwaited else { return discard() }
        isPublishing = true
        let published: SavedFile
        do {
            published = try await folders.publish(file, of: task.record.id, at: destination)
        } catch {
            publishingEnds()
            throw error
        }
        publishingEnds()
        complete(published)
    }

    /// What comes of the task is not put off for whoever wants it to end, suspended or not.
    private func publishingEnds() {
        isPublishing = false
        guard isEndAwaited, let control else { return }
        while control.machine.isSuspended, !control.machine.isOver {
            control.send(.resume(beginsLater: false))
        }
    }

    /// Somebody wants the task to end.
    /// - Returns: whether it does so by itself, now that the file is getting its name.
    func endsAnyway() -> Bool {
        if isPublishing { isEndAwaited = true }
        return isPublishing
    }

    /// The file is where it belongs: nothing else keeps the content any more.
    private func complete(_ file: SavedFile) {
        guard isAwaited, var content = task.record.content else { return }
        switch content.place {
        case .store: task.session.commits.dropContent(of: task.record.id)
        case .file:
            task.session.unnamedFiles[task.record.id] = nil
            if task.session.record.isPersistent {
                task.services.contents.discard(task.record.contentName)
            }
        case .folder: break
        }
        content.place = .folder
        content.series = nil
        task.record.content = content
        task.record.saved = file
        control?.send(.contentKept)
    }

    /// Whether the task still waits for this: it may have been cancelled meanwhile.
    private var isAwaited: Bool {
        if case .finishing = control?.machine.phase { true } else { false }
    }

    private func fail(_ fault: SaveFault) {
        discard()
        task.record.saved = nil
        guard isAwaited else { return }
        note("a download cannot be saved in its folder", fault)
        control?.send(.failed(fault.error(for: destination)))
    }

    private func note(_ sentence: StaticString, _ fault: SaveFault) {
        task.services.log.write(
            .warning, sentence,
            ["task": .name("\(task.record.id)"), "error": .words("\(fault)")])
    }

    private func source(_ bytes: [UInt8]?) async throws(SaveFault) -> SaveSource {
        if let bytes { return .bytes(bytes) }
        let id = task.record.id
        guard let content = task.record.content, content.length > 0 else { return .bytes([]) }
        if content.place == .store { return .bytes(try await storedBytes()) }
        if let file = task.session.unnamedFiles[id] {
            return .content(task.services.spools.open(file, length: content.length), nil)
        }
        do {
            return .content(
                try await task.services.contents.openKnown(task.record.contentName), .task(id))
        } catch {
            throw .file(error as? FileError ?? FileError("open", code: EIO))
        }
    }

    private func storedBytes() async throws(SaveFault) -> [UInt8] {
        let commits = task.session.commits
        if let bytes = commits.recentContent(of: task.record.id) { return bytes }
        do throws(StoreError) {
            if let bytes = try await commits.store.content(of: task.record.id) { return bytes }
        } catch {
            throw .unreadable(error)
        }
        throw .file(FileError("open", code: ENOENT))
    }
}

extension SaveFault {
    /// Nothing has failed for good: it may be saved in a while.
    fileprivate var isForLater: Bool {
        switch self {
        case .unreadable(.away), .unreadable(.lost): true
        case .file(let error): error.isForLater
        default: false
        }
    }
}
