internal import Diagnostics
internal import Loop
internal import Semantics

/// What comes of a content, and what is done with one that is whole.
extension TaskRunner {
    var sink: TaskContent.Sink? { content.sink }

    /// Inline bytes that may be on their way to the store.
    private static let uncommittedLimit = 1 << 20

    /// Whether an inline transfer must wait until what it has delivered is durable; if so it goes
    /// on by itself.
    func mustWaitForCommit() -> Bool {
        guard uncommittedBytes > TaskRunner.uncommittedLimit else { return false }
        exchange.notePause(.commit)
        updateIdleTimer()
        let commits = session.commits
        Task { @LoopActor in
            await commits.durable()
            uncommittedBytes = 0
            let attempt = exchange.unpause(.commit)
            updateIdleTimer()
            attempt?.resume()
        }
        return true
    }

    // MARK: The end

    func keepContent() {
        switch content.sink {
        case .spool(let spool):
            keep(spool) { () throws(TransferError) in
                try content.finishInMemory(spool, lengthVerified: lengthVerified)
            }
        case .pipe(let pipe):
            task.record.countOfBytesExpectedToReceive = task.record.countOfBytesReceived
            // It waits for a reader as long as an attempt waits for a byte.
            if content.drain(pipe) { timers.attemptBegan() }
        case nil:
            task.record.countOfBytesExpectedToReceive = task.record.countOfBytesReceived
            send(.contentKept)
        }
    }

    /// Takes over what `finish` makes of a spool; nil of it means that it takes a while.
    private func keep(
        _ spool: ContentSpool, _ finish: () throws(TransferError) -> TaskContent.Kept?
    ) {
        do {
            guard let kept = try finish() else {
                LoopActor.start { [self] in await keepFile(of: spool) }
                return
            }
            task.record.content = kept.record
            task.record.countOfBytesExpectedToReceive = kept.record.length
            content.put(kept)
            if let new = storable(kept.record.length) {
                propose(new, content.forCache(kept))
            } else {
                send(.contentKept)
            }
        } catch {
            contentIsWrong(error)
        }
    }

    private func keepFile(of spool: ContentSpool) async {
        guard !spool.isClosed else { return }  // cancelled in the turn that ended the attempt
        do {
            let (bytes, digest) = try await spool.finish()
            guard !isOver else { return }  // cancelled meanwhile
            keep(spool) { () throws(TransferError) in
                try content.kept(spool, bytes, digest, lengthVerified: lengthVerified)
            }
        } catch {
            if !goesBack(after: error, in: spool) { send(.failed(.cannotWrite("\(error)"))) }
        }
    }

    /// The content is whole, but not the right one: another source may have that.
    private func contentIsWrong(_ error: TransferError) {
        guard task.record.mirrorCount < task.record.options.mirrors.count else {
            send(.failed(error))
            return
        }
        dropReceived()
        attemptFailed(error)
    }

    /// Whether what has come stays when the task fails: events have told of it (S-58). Of a
    /// download it is resume data.
    var keepsPart: Bool {
        machine.isUnderWay && content.isWorthKeeping
    }

    /// Brings what has come of a task that ends to safety, if the disk has room for it.
    func keepPart(ofTaskEndingWith error: TransferError) {
        timers.stop()
        LoopActor.start { [self] in
            guard !content.isWorthKeeping else {
                await keepPart()
                send(.partKept(error))
                return
            }
            await preparation?.value  // it may be taking the part up
            let data = await download.park().flatMap { services.resumeData($0, of: task.record) }
            send(
                .partKept(
                    data.map { error.adding(.string($0), for: TransferError.resumeDataKey) }
                        ?? error))
        }
    }

    private func keepPart() async {
        guard let part = await content.finishPart(), !isOver else { return }
        task.record.content = part.record
        content.put(part)
    }

    func dropContent() {
        if let kept = task.record.content {
            guard !kept.isPart else { return }
            // It was whole, but the task was ended before it was told so.
            task.record.content = nil
            content.forget(kept)
        }
        content.drop(task.record.checkpoint)
    }
}

extension TaskRunner: TaskContentOwner {
    func contentHasRoom() {
        let attempt = exchange.unpause(.sink)
        updateIdleTimer()
        attempt?.resume()
    }

    func contentWasWritten() { services.checkpoints.note(download) }

    func contentFailed(_ error: FileError) { send(.failed(.cannotWrite(error.description))) }

    func contentReaderLeft() { send(.cancel) }

    func contentWasRead() { send(.contentKept) }
}
