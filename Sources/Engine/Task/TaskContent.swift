internal import Diagnostics
internal import Files
internal import Loop
internal import Semantics

/// Hears what becomes of a task's content.
@LoopActor
protocol TaskContentOwner: AnyObject {
    /// What has refused bytes takes some again.
    func contentHasRoom()
    /// Whether the content waits for a full disk is another.
    func contentWaitHasChanged()
    /// The disk has taken a block: a checkpoint would find more than the last one.
    func contentWasWritten()
    /// The disk has failed for good.
    func contentFailed(_ error: FileError)
    /// The reader of a streamed content has left.
    func contentReaderLeft()
    /// A streamed content is whole, and has been read.
    func contentWasRead()
}

/// Where the bytes of a task's content go.
@LoopActor
final class TaskContent {
    enum Sink {
        /// Kept whole (S-41 collect, S-60).
        case spool(ContentSpool)
        /// Handed on (S-41 stream).
        case pipe(StreamPipe)
    }

    /// A content in its place, or on its way there.
    struct Kept {
        let record: ContentRecord
        /// Nil where it is in the spool's file.
        let bytes: [UInt8]?
        fileprivate let spool: ContentSpool
    }

    var owner: (any TaskContentOwner)?
    private(set) var sink: Sink?
    private let task: TaskID
    private let type: TaskType
    private let isStreamed: Bool
    private let expectedDigest: ContentDigest?
    private let computesDigest: Bool
    private let session: LiveSession
    private let services: TaskServices
    /// Where the file work of a content is done that was thrown away: what takes its place comes
    /// behind it.
    private var replacedLane: Int?

    /// Nothing has come yet.
    init(of task: LiveTask) {
        self.task = task.record.id
        type = task.record.type
        isStreamed = task.record.options.delivery == .stream
        expectedDigest = task.record.options.expectedDigest
        computesDigest = task.record.options.computeDigest
        session = task.session
        services = task.services
    }

    /// What keeps the content, while something does.
    var spool: ContentSpool? {
        if case .spool(let spool) = sink { spool } else { nil }
    }

    /// Whether nobody reads a content that is handed on.
    var lacksReader: Bool {
        if case .pipe(let pipe) = sink { !pipe.hasReader } else { false }
    }

    /// A digest over no bytes yet, if one was asked for.
    func makeDigest() -> (any RunningDigest)? {
        let algorithm =
            expectedDigest?.algorithm ?? (computesDigest ? .sha256 : nil)
        return algorithm.map(services.spools.makeDigest)
    }

    // MARK: Coming

    /// A response begins.
    func open(method: String) {
        // A download always ends with a file, if an empty one (S-60).
        guard method != "HEAD" || type == .download else { return }
        if isStreamed {
            openPipe()
            return
        }
        let (spools, digest) = (services.spools, makeDigest())
        attach(
            session.record.isPersistent
                ? spools.makeSpool(for: .task(task), digest: digest, lane: replacedLane)
                : spools.makeUnnamedSpool(digest: digest, lane: replacedLane))
    }

    /// What comes goes into the spool from now on.
    func attach(_ spool: ContentSpool) {
        spool.onRoom = { [weak self] in self?.owner?.contentHasRoom() }
        spool.onFailure = { [weak self] in self?.owner?.contentFailed($0) }
        spool.onWait = { [weak self] in self?.owner?.contentWaitHasChanged() }
        if type == .download, session.record.isPersistent {
            spool.onWritten = { [weak self] in self?.owner?.contentWasWritten() }
        }
        sink = .spool(spool)
    }

    /// The pipe of a streamed content; made before the first byte, so that a reader may wait for
    /// it.
    private func openPipe() {
        if case .pipe = sink { return }
        let pipe = StreamPipe()
        pipe.onRoom = { [weak self] in self?.owner?.contentHasRoom() }
        pipe.onReaderGone = { [weak self] in self?.owner?.contentReaderLeft() }
        sink = .pipe(pipe)
    }

    /// Whether bytes would be taken; if not, the owner is told when that changes.
    func hasRoom() -> Bool {
        switch sink {
        case .spool(let spool): spool.hasRoom()
        case .pipe(let pipe): pipe.hasRoom()
        case nil: true  // a body where none can be, as after HEAD: libcurl does not deliver one
        }
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        switch sink {
        case .spool(let spool): spool.append(bytes)
        case .pipe(let pipe): pipe.append(bytes)
        case nil: break
        }
    }

    // MARK: The end

    /// Whether events have told of a content that has begun (S-58); of a download the part is
    /// resume data.
    var isWorthKeeping: Bool {
        guard let spool, type != .download, !spool.isClosed else { return false }
        return spool.length > 0
    }

    /// The content of a spool that has it all in memory; nil for a larger one, which `finish`
    /// waits for.
    /// - Throws: `digestMismatch`.
    func finishInMemory(
        _ spool: ContentSpool, lengthVerified: Bool
    ) throws(TransferError) -> Kept? {
        guard let (bytes, digest) = spool.finishInMemory() else { return nil }
        return try kept(spool, bytes, digest, lengthVerified: lengthVerified)
    }

    /// As `finishInMemory`, once the bytes were brought to the disk with `ContentSpool.finish`.
    func kept(
        _ spool: ContentSpool, _ bytes: [UInt8]?, _ digest: [UInt8]?, lengthVerified: Bool
    ) throws(TransferError) -> Kept {
        let actual = digest.flatMap {
            ContentDigest(algorithm: expectedDigest?.algorithm ?? .sha256, bytes: $0)
        }
        if let expected = expectedDigest, let actual, expected != actual {
            spool.close(isBroken: true)
            throw .digestMismatch(expected: expected, actual: actual)
        }
        return Kept(
            record: ContentRecord(
                length: spool.length, place: bytes == nil ? .file : .store,
                digest: actual?.description, lengthVerified: lengthVerified, series: spool.series),
            bytes: bytes, spool: spool)
    }

    /// What has come of a task that ends before the end of its content; nil where the disk has no
    /// room for it.
    func finishPart() async -> Kept? {
        guard let spool else { return nil }
        do {
            let (bytes, _) = try await spool.finish(waitsForRoom: false)
            return Kept(
                record: ContentRecord(
                    length: spool.length, place: bytes == nil ? .file : .store, digest: nil,
                    lengthVerified: false, isPart: true, series: spool.series),
                bytes: bytes, spool: spool)
        } catch {
            services.log.write(.error, "a part cannot be kept", ["error": .words("\(error)")])
            return nil
        }
    }

    /// Hands a content over to who keeps it.
    func put(_ kept: Kept) {
        if let bytes = kept.bytes {
            if !bytes.isEmpty { session.commits.keep(bytes, of: task) }
        } else if !session.record.isPersistent {
            session.unnamedFiles[task] = kept.spool.file
        }
        kept.spool.close(isBroken: kept.record.isPart)
    }

    /// What of a content the cache keeps.
    func forCache(_ kept: Kept) -> NewContent {
        if let bytes = kept.bytes { return .bytes(bytes) }
        guard !session.record.isPersistent else {
            return .file(.task(task, in: kept.record.series))
        }
        return .unnamed(services.spools.open(kept.spool.file, length: kept.record.length))
    }

    /// Nothing more comes on a stream: the owner hears when it has been read.
    /// - Returns: whether a reader has yet to come.
    func drain(_ pipe: StreamPipe) -> Bool {
        pipe.finish(.success(()))
        guard !pipe.isDrained else {
            owner?.contentWasRead()
            return false
        }
        pipe.onDrained = { [weak self] in self?.owner?.contentWasRead() }
        return !pipe.hasReader
    }

    /// The task has failed: nobody keeps what has come of it.
    /// - Parameter checkpoint: what was on disk before something came.
    func drop(_ checkpoint: DownloadCheckpoint?) {
        close()
        if let spool {
            discardFile(of: spool)
        } else if checkpoint?.part == task {
            discardOwnPart()
        }
    }

    /// Nothing more comes: who follows the content learns that it is not whole.
    func close() {
        switch sink {
        case .spool(let spool): spool.close(isBroken: true)
        case .pipe(let pipe): pipe.finish(.failure(.taskFailed))
        case nil: break
        }
    }

    /// Another task has taken the rest: a reader has what came before, and nobody keeps it.
    func endHere() {
        if case .pipe(let pipe) = sink { pipe.finish(.success(())) }
        discard()
        sink = nil
    }

    // MARK: What is not used

    /// What has come is not used, and what follows begins at zero.
    func discard() {
        guard let spool else { return }
        spool.close(isBroken: true)
        discardFile(of: spool)
        replacedLane = spool.lane
        sink = nil
    }

    /// What has come stays on the disk as far as it got there, and is taken up from there.
    func detach() {
        guard let spool else { return }
        spool.close(isBroken: true)
        replacedLane = spool.lane
        sink = nil
    }

    /// Removes the file of a content that is not used; one that stays is swept up later.
    private func discardFile(of spool: ContentSpool) {
        if session.record.isPersistent { spool.discardFile() }
    }

    /// Removes what an earlier process, or another task, has left to this one.
    func discardOwnPart() {
        if session.record.isPersistent { services.contents.discard(.task(task)) }
    }

    /// Forgets a content that was whole already.
    func forget(_ content: ContentRecord) {
        session.unnamedFiles[task] = nil
        switch content.place {
        case .store: session.commits.dropContent(of: task)
        case .file where session.record.isPersistent:
            services.contents.discard(.task(task, in: content.series))
        case .file, .folder: break
        }
    }
}
