internal import Diagnostics
internal import Files
internal import Loop
internal import Semantics

/// What is done with a task's content: one that is whole goes where it belongs, a part is brought
/// to safety, and what a full disk did not take is fetched again.
@LoopActor
final class ContentKeeper {
    var owner: (any ReceptionOwner)?
    private let task: LiveTask
    private let reception: Reception
    private let caching: CacheFlow
    private let followUp: FollowUp
    private let timers: TaskTimers

    init(
        of task: LiveTask, from reception: Reception, _ caching: CacheFlow, _ followUp: FollowUp,
        _ timers: TaskTimers
    ) {
        self.task = task
        self.reception = reception
        self.caching = caching
        self.followUp = followUp
        self.timers = timers
    }

    private var control: (any TaskControl)? { task.control }
    private var delegate: (any DelegateAsking)? { task.delegate }
    private var content: TaskContent { reception.content }
    private var download: ResumableDownload { reception.download }
    private var services: TaskServices { task.services }

    // MARK: A whole content

    /// Puts the content in its place.
    func keep() {
        if task.record.isContentKept {
            // By the last process (S-56).
            if let saving = reception.saving {
                // Which was saving it, or had failed to, and was not to tell before it is resumed.
                if task.record.isBeingSaved { saving.goOn() } else { saving.save(nil) }
            } else if delegate?.isAsked != true {
                control?.send(.contentKept)
            }
            return
        }
        switch content.sink {
        case .spool(let spool):
            keep(spool) { () throws(TransferError) in
                try content.finishInMemory(spool, lengthVerified: reception.lengthVerified)
            }
        case .pipe(let pipe):
            task.record.countOfBytesExpectedToReceive = task.record.countOfBytesReceived
            // It waits for a reader as long as an attempt waits for a byte.
            if content.drain(pipe) { timers.attemptBegan() }
        case nil:
            task.record.countOfBytesExpectedToReceive = task.record.countOfBytesReceived
            control?.send(.contentKept)
        }
    }

    /// Takes over what `finish` makes of a spool; nil of it means that it takes a while.
    private func keep(
        _ spool: ContentSpool, _ finish: () throws(TransferError) -> TaskContent.Kept?
    ) {
        do {
            guard let kept = try finish() else {
                keepFile(of: spool)
                return
            }
            task.record.content = kept.record
            task.record.countOfBytesExpectedToReceive = kept.record.length
            content.put(kept)
            if let new = reception.storable(kept.record.length) {
                propose(new, content.forCache(kept))
            } else if let saving = reception.saving {
                saving.save(kept.bytes)
            } else {
                control?.send(.contentKept)
            }
        } catch {
            contentIsWrong(error)
        }
    }

    private func keepFile(of spool: ContentSpool) {
        guard let control else { return }
        LoopActor.start { [self] in
            guard !spool.isClosed else { return }  // cancelled in the turn that ended the attempt
            do {
                let (bytes, digest) = try await spool.finish()
                guard !control.machine.isOver else { return }  // cancelled meanwhile
                keep(spool) { () throws(TransferError) in
                    try content.kept(
                        spool, bytes, digest, lengthVerified: reception.lengthVerified)
                }
            } catch {
                guard !goesBack(after: error, in: spool) else { return }
                let failure = TransferError.cannotWrite("\(error)")
                // What has its bytes still has them where only their place was refused (S-35).
                let isSound = (error as? FileError)?.leavesBytes == true && download.canPark
                control.send(isSound ? .interruptedWithPart(failure) : .failed(failure))
            }
        }
    }

    /// The content is whole, but not the right one: another source may have that.
    private func contentIsWrong(_ error: TransferError) {
        guard task.record.mirrorCount < task.record.options.mirrors.count else {
            control?.send(.failed(error))
            return
        }
        reception.drop()
        followUp.attemptFailed(error)
    }

    /// A response may be stored: it is, if the delegate does not decide otherwise.
    private func propose(_ new: NewResponse, _ content: NewContent) {
        guard task.handles(.cache), let response = task.record.response else {
            caching.store(new, content)
            return
        }
        caching.propose(new, content)
        delegate?.ask(.cache) { .willCacheResponse(response, decision: $0) }
        control?.save()
    }

    // MARK: A part

    /// Whether what has come stays when the task fails: events have told of it (S-58). Of a
    /// download it is resume data.
    var keepsPart: Bool { isReceiving && content.isWorthKeeping }

    /// Whether anything stays that another task could go on from, or that can be read.
    var hasPart: Bool { keepsPart || (isReceiving && download.canPark) }

    /// Brings what has come of a task that ends to safety, if the disk has room for it; no attempt
    /// is being prepared, which might be taking the part up.
    ///
    /// - Returns: why the task ends, with resume data where there are any.
    func keepPart(ofTaskEndingWith error: TransferError) async -> TransferError {
        guard !content.isWorthKeeping else {
            if let part = await content.finishPart(), !isOver {
                task.record.content = part.record
                content.put(part)
            }
            return error
        }
        let data = await download.park().flatMap { services.resumeData($0, of: task.record) }
        return data.map { error.adding(.string($0), for: TransferError.resumeDataKey) } ?? error
    }

    /// The task has failed: nobody keeps what has come of it, but for a part that is in safety.
    func drop() {
        if let saving = reception.saving {
            saving.discard()
            task.record.saved = nil
        }
        if let kept = task.record.content {
            guard !kept.isPart else { return }
            // It was whole, but the task was ended before it was told so.
            task.record.content = nil
            content.forget(kept)
        }
        content.drop(task.record.checkpoint)
    }

    /// A task that waits for long leaves nothing that ends with the process: then it waits on
    /// behind a restart (S-56).
    func settleWhileWaiting() {
        guard content.spool != nil, let control else { return }
        let phase = control.machine.phase
        LoopActor.start { [download] in
            // An attempt that has begun meanwhile goes on with the spool as it is.
            guard control.machine.phase == phase else { return }
            await download.checkpointAll()
            if control.machine.phase == phase, !control.machine.isOver { control.save() }
        }
    }

    // MARK: A full disk

    private static let roomInterval = Duration.seconds(1)

    /// What follows when the disk takes bytes, and has no room for them when they are to be there
    /// for good: as with quotas, over the network, and where room is given late. They are fetched
    /// again when there is room.
    ///
    /// - Returns: false where the task cannot go on: the disk has failed, or nothing can be fetched
    ///   again.
    private func goesBack(after error: any Error, in spool: ContentSpool) -> Bool {
        guard (error as? FileError)?.isOutOfSpace == true, let control,
            canFetchAgain(in: control.machine.phase)
        else { return false }
        guard content.spool === spool else { return true }
        services.log.write(
            .warning, "the disk is full: a download goes back to its last checkpoint",
            ["task": .name("\(task.record.id)")])
        let phase = control.machine.phase
        if phase == .attempting || phase == .held {
            owner?.stop()
            delegate?.responseIsLost()
        }
        if let point = download.goBack(from: spool) {
            task.beginReceiving(at: point.receivedCount)
        } else {
            reception.drop()
        }
        switch phase {
        case .attempting, .held, .finishing:
            timers.retryDelay = ContentKeeper.roomInterval
            control.send(.retry)
        default: control.save()
        }
        control.rest()
        return true
    }

    /// Whether another request can bring what has come, and the task is not on its way out.
    private func canFetchAgain(in phase: TaskMachine.Phase) -> Bool {
        switch phase {
        case .suspended(.some), .ending, .settled, .abandoned, .completed: false
        default:
            task.record.type == .download && task.record.currentRequest.isSafe
                && task.record.currentRequest.body == nil && task.canBeginAgain
                && !task.record.isOnePart
        }
    }

    /// The wait for the next attempt is over, unless that is also one for room.
    func retryIsDue() {
        guard let control else { return }
        guard download.lacksRoom else { return control.send(.retryDue) }
        let wait = timers.waitCount
        LoopActor.start { [download, timers] in
            let failure = await download.findRoom()
            guard timers.waitCount == wait, control.machine.phase == .waitingForRetry else {
                return
            }
            switch failure {
            case nil:
                download.hasRoomAgain()
                control.send(.retryDue)
            case let failure? where failure.isOutOfSpace || failure.isOutOfDescriptors:
                timers.waitOn(for: ContentKeeper.roomInterval)
            case let failure?: control.send(.interrupted(.cannotWrite("\(failure)")))
            }
        }
    }
}

extension ContentKeeper: TaskContentOwner {
    func contentHasRoom() { owner?.goOn(.sink) }

    func contentWaitHasChanged() { control?.noteChanges() }

    func contentWasWritten() { services.tickers.checkpoints.note(download) }

    func contentFailed(_ error: FileError) {
        control?.send(.failed(.cannotWrite(error.description)))
    }

    /// A suspended task ends when it is resumed (S-77).
    func contentReaderLeft() { control?.fail(.cancelled) }

    func contentWasRead() { control?.send(.contentKept) }
}

extension ContentKeeper: ResumableDownloadOwner {
    var requestMethod: String { task.record.currentRequest.method }
    var checkpoint: DownloadCheckpoint? { task.record.checkpoint }
    var hasLiveAttempt: Bool { control?.machine.hasLiveAttempt == true }
    var isReceiving: Bool { control?.machine.isUnderWay == true }
    var isOver: Bool { control?.machine.isOver ?? true }
    var hasEnded: Bool { control?.machine.phase == .completed }

    func downloadIsSafe(at checkpoint: DownloadCheckpoint) {
        task.record.checkpoint = checkpoint
        task.save()
    }

    func downloadGoesBack(to checkpoint: DownloadCheckpoint) async -> Bool {
        downloadIsSafe(at: checkpoint)
        let waiter = CompletionWaiter()
        var isDurable = false
        task.session.commits.whenDurable {
            isDurable = $0
            waiter.end()
        }
        // Where the process ends, the store may be away for long.
        await waiter.wait(within: nil, isForClient: true)
        return isDurable
    }

    func downloadHasPart(of count: Int64) { task.claim(count) }

    /// Not `fail`: keeping the part would sync again, and be told that all is well. Of a task
    /// that is left to the next start, the record tells of what was there before.
    func downloadIsLost(_ error: any Error, in spool: ContentSpool) {
        guard !goesBack(after: error, in: spool) else { return }
        services.log.write(
            .error, "what has come of a download cannot be kept",
            ["task": .name("\(task.record.id)"), "error": .words("\(error)")])
        control?.send(.interrupted(.cannotWrite("\(error)")))
    }
}
