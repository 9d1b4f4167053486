internal import Diagnostics
internal import Loop
internal import Semantics

/// Where a task's body goes.
enum ContentSink {
    /// Kept whole (S-41 collect, S-60).
    case spool(ContentSpool)
    /// Handed on (S-41 stream).
    case pipe(StreamPipe)
}

extension TaskRunner {
    /// Inline bytes that may be on their way to the store.
    private static let uncommittedLimit = 1 << 20

    func openSink(expecting response: ResponseRecord) {
        // A download always ends with a file, if an empty one (S-60).
        guard record.currentRequest.method != "HEAD" || record.type == .download else { return }
        if record.options.delivery == .stream {
            openPipe()
            return
        }
        let place: ContentFile.Place =
            session.record.isPersistent
            ? .named(services.folder, record.id) : .unnamed(services.unnamed)
        attach(
            ContentSpool(
                at: place, digest: makeDigest(), files: services.files, room: services.room,
                clock: services.clock, lane: replacedLane))
    }

    /// A digest over no bytes yet, if one was asked for.
    func makeDigest() -> (any RunningDigest)? {
        let algorithm =
            record.options.expectedDigest?.algorithm
            ?? (record.options.computeDigest ? .sha256 : nil)
        return algorithm.map(services.digests.start)
    }

    /// What comes goes into the spool from now on.
    func attach(_ spool: ContentSpool) {
        spool.onRoom = { [weak self] in self?.sinkGotRoom() }
        spool.onFailure = { [weak self] error in
            self?.send(.failed(.cannotWrite(error.description)))
        }
        if record.type == .download, session.record.isPersistent {
            spool.onWritten = { [weak self] in
                if let self { services.checkpoints.note(self) }
            }
        }
        sink = .spool(spool)
    }

    /// Whether bytes would be taken; if not, the attempt is told when that changes.
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

    /// The pipe of a streamed content; made before the first byte, so that a reader may wait for
    /// it.
    @discardableResult
    func openPipe() -> StreamPipe {
        if case .pipe(let pipe) = sink { return pipe }
        let pipe = StreamPipe()
        pipe.onRoom = { [weak self] in self?.sinkGotRoom() }
        pipe.onReaderGone = { [weak self] in self?.send(.cancel) }
        sink = .pipe(pipe)
        return pipe
    }

    func sinkGotRoom() {
        let attempt = exchange.unpause(.sink)
        updateIdleTimer()
        attempt?.resume()
    }

    /// Whether an inline transfer must wait until what it has delivered is durable; if so it goes
    /// on by itself.
    func mustWaitForJournal() -> Bool {
        guard uncommittedBytes > TaskRunner.uncommittedLimit else { return false }
        exchange.notePause(.journal)
        updateIdleTimer()
        let journal = session.journal
        Task { @LoopActor in
            await journal.durable()
            uncommittedBytes = 0
            let attempt = exchange.unpause(.journal)
            updateIdleTimer()
            attempt?.resume()
        }
        return true
    }

    // MARK: The end

    func keepContent() {
        switch sink {
        case .spool(let spool):
            if let (bytes, digest) = spool.finishInMemory() {
                keep(bytes, digest, of: spool)
            } else {
                LoopActor.start { [self] in await keepFile(of: spool) }
            }
        case .pipe(let pipe): drain(pipe)
        case nil:
            record.countOfBytesExpectedToReceive = record.countOfBytesReceived
            send(.contentKept)
        }
    }

    private func keepFile(of spool: ContentSpool) async {
        guard !spool.isClosed else { return }  // cancelled in the turn that ended the attempt
        do {
            let (_, digest) = try await spool.finish()
            guard record.state != .completed, !hasBrokenOff else { return }  // cancelled meanwhile
            keep(nil, digest, of: spool)
        } catch {
            if !goesBack(after: error, in: spool) { send(.failed(.cannotWrite("\(error)"))) }
        }
    }

    /// Puts the content into the record; without `bytes` it is in the spool's file.
    private func keep(_ bytes: [UInt8]?, _ digest: [UInt8]?, of spool: ContentSpool) {
        if let error = digestError(digest) {
            spool.close(isBroken: true)
            contentIsWrong(error)
            return
        }
        place(
            bytes, of: spool, digest: contentDigest(digest)?.description,
            lengthVerified: lengthVerified)
        record.countOfBytesExpectedToReceive = spool.length
        if let new = storable(spool.length) {
            let content: NewContent =
                if let bytes {
                    .bytes(bytes)
                } else if session.record.isPersistent {
                    .file(record.id)
                } else {
                    .unnamed(spool.file)
                }
            propose(new, content)
        } else {
            send(.contentKept)
        }
        spool.close()
    }

    /// Notes in the record what has come; without `bytes` it is in the spool's file.
    private func place(
        _ bytes: [UInt8]?, of spool: ContentSpool, digest: String? = nil,
        lengthVerified: Bool = false, isPart: Bool = false
    ) {
        record.content = ContentRecord(
            length: spool.length, place: bytes == nil ? .file : .store, digest: digest,
            lengthVerified: lengthVerified, isPart: isPart)
        if let bytes {
            if !bytes.isEmpty { session.journal.keep(bytes, of: record.id) }
        } else if !session.record.isPersistent {
            session.unnamedFiles[record.id] = spool.file
        }
    }

    /// Whether what has come stays when the task fails: events have told of it (S-58). Of a
    /// download it is resume data.
    var keepsPart: Bool {
        guard case .spool(let spool) = sink, record.type != .download, !spool.isClosed else {
            return false
        }
        return spool.length > 0 && machine.phase != .finishing
    }

    /// Brings what has come of a task that ends into its place, if the disk has room for it.
    func keepPart() async {
        guard case .spool(let spool) = sink else { return }
        do {
            let (bytes, _) = try await spool.finish(waitsForRoom: false)
            guard !isOver else { return }
            place(bytes, of: spool, isPart: true)
            spool.close(isBroken: true)
        } catch {
            services.log.write(.error, "a part cannot be kept", ["error": .words("\(error)")])
        }
    }

    private func drain(_ pipe: StreamPipe) {
        record.countOfBytesExpectedToReceive = record.countOfBytesReceived
        pipe.finish(.success(()))
        if pipe.isDrained {
            send(.contentKept)
        } else {
            pipe.onDrained = { [weak self] in self?.send(.contentKept) }
            if !pipe.hasReader { limitWaitForReader() }
        }
    }

    func dropContent() {
        if let content = record.content {
            guard !content.isPart else { return }
            // It was whole, but the task was ended before it was told so.
            record.content = nil
            session.unnamedFiles[record.id] = nil
            if content.place == .store { session.journal.dropContent(of: record.id) }
        }
        closeSink()
        if case .spool(let spool) = sink {
            discardPart(of: spool)
        } else if record.checkpoint?.part == record.id {
            discardOwnPart()
        }
    }

    /// Removes what an earlier process, or another task, has left to this one.
    func discardOwnPart() {
        guard session.record.isPersistent else { return }
        let (folder, task) = (services.folder, record.id)
        services.files.submit { try? folder.remove(task) }
    }

    /// Removes the file of a content that is not used; one that stays is swept up later.
    func discardPart(of spool: ContentSpool) {
        guard session.record.isPersistent, spool.isOnDisk else { return }
        let (folder, task) = (services.folder, record.id)
        // Behind what the lane still writes.
        spool.afterWrites { try? folder.remove(task) }
    }

    /// Nothing more comes: who follows the content learns that it is not whole.
    func closeSink() {
        switch sink {
        case .spool(let spool): spool.close(isBroken: true)
        case .pipe(let pipe): pipe.finish(.failure(.taskFailed))
        case nil: break
        }
    }

    /// The content is whole, but not the right one: another source may have that.
    private func contentIsWrong(_ error: TransferError) {
        guard record.mirrorCount < record.options.mirrors.count else {
            send(.failed(error))
            return
        }
        dropReceived()
        attemptFailed(error)
    }

    private func digestError(_ digest: [UInt8]?) -> TransferError? {
        guard let expected = record.options.expectedDigest, let actual = contentDigest(digest),
            expected != actual
        else { return nil }
        return .digestMismatch(expected: expected, actual: actual)
    }

    private func contentDigest(_ digest: [UInt8]?) -> ContentDigest? {
        guard let digest else { return nil }
        let algorithm = record.options.expectedDigest?.algorithm ?? .sha256
        return ContentDigest(algorithm: algorithm, bytes: digest)
    }
}
