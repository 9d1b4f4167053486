internal import Diagnostics
internal import Loop
internal import Semantics

/// How a download goes on from what is there, and what becomes of it when that is lost.
extension TaskRunner {
    // MARK: Before an attempt

    /// Takes up what is on disk.
    func findPart() async throws(TransferError) {
        switch try await download.findPart() {
        case .asBefore: break
        case .gone: dropReceived()
        case .at(let point):
            task.record.checkpoint = DownloadCheckpoint(point: point, part: task.record.id)
            task.beginReceiving(at: point.receivedCount)
            task.record.countOfBytesExpectedToReceive = point.total ?? unknownSize
        }
    }

    // MARK: The answer

    /// The answer to a request for what is missing.
    func goOn(with range: RangeRequest, _ head: ResponseHead) -> FlowVerdict {
        switch range.judge(status: head.status, headers: head.headers) {
        case .rest(let end, let total):
            download.learn(total: total, from: range)
            guard !tellOfResumption(head, total: total) else { return pauseForDecision() }
            exchange.missingByteCount = end - range.start
            waiters.contentBegins()
            splitUp(from: range.start, to: end)
            return .proceed
        case .complete:
            guard !tellOfResumption(head, total: range.start) else { return pauseForDecision() }
            waiters.contentBegins()
            exchange.sequel = .finish
            return .proceed
        case .whole(isSameEntity: true) where range.byDate != nil:
            exchange.sequel = .again(range.byDate)
            return .stop
        case .whole:
            dropReceived()
            return begin(ResponseRecord(head, to: task.record, in: session.record))
        case .mismatch(let words):
            guard download.hasBegunAnew else {
                download.beginAnew()
                exchange.sequel = .again(nil)
                return .stop
            }
            exchange.sequel = .fail(.badServerResponse(words))
            return .stop
        case .other:
            guard task.record.response == nil || isResponseDecided else {
                exchange.sequel = .fail(.restAnswered(with: head.status))
                return .stop
            }
            dropReceived()
            return begin(ResponseRecord(head, to: task.record, in: session.record))
        }
    }

    /// A task that goes on with another one's part says so once, before its response (S-36).
    ///
    /// - Returns: whether the delegate has yet to say what becomes of the response.
    private func tellOfResumption(_ head: ResponseHead, total: Int64?) -> Bool {
        guard task.record.response == nil else { return false }
        task.publish(
            .didResumeAtOffset(
                fileOffset: task.record.countOfBytesReceived,
                expectedTotalBytes: total ?? unknownSize))
        task.record.countOfBytesExpectedToReceive = total ?? unknownSize
        return showAsking(ResponseRecord(head, to: task.record, in: session.record))
    }

    /// What has come is not used: the next response begins at zero.
    func dropReceived() {
        endSegments()
        download.drop()
        replacedParts = nil
        undelivered = nil
        task.record.response = nil
        task.record.checkpoint = nil
        task.beginReceiving(at: 0)
        task.record.countOfBytesExpectedToReceive = unknownSize
        lengthVerified = true
    }

    /// Brings what has come of an outstanding download to the disk (S-13).
    /// - Returns: why it is not there, if it is not.
    func flush() async -> FileError? { await download.flush() }

    // MARK: Suspension (S-32)

    /// The time of the connection is over: it is a slot of its host, and no server keeps one for
    /// ever.
    func detach() {
        guard machine.phase == .held, canDetach else { return }
        send(.detach)
        LoopActor.start { [self] in
            await download.checkpointAll()
            guard case .suspended = machine.phase else { return }
            save()
            rest()
        }
    }

    /// Whether nothing was delivered yet, so that the task can begin anew, or the rest of a
    /// download can be asked for.
    var canDetach: Bool {
        guard task.record.currentRequest.isSafe, task.record.currentRequest.body == nil, !isAsked
        else { return false }
        return task.record.response == nil || download.canBeResumed
    }

    /// A task that waits for long leaves nothing that ends with the process: then it waits on
    /// behind a restart (S-56).
    func settleWhileWaiting() {
        guard content.spool != nil else { return }
        let phase = machine.phase
        LoopActor.start { [self] in
            // An attempt that has begun meanwhile goes on with the spool as it is.
            guard machine.phase == phase else { return }
            await download.checkpointAll()
            if machine.phase == phase, !isOver { save() }
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
    func goesBack(after error: any Error, in spool: ContentSpool) -> Bool {
        guard (error as? FileError)?.isOutOfSpace == true, canFetchAgain else { return false }
        guard content.spool === spool else { return true }
        services.log.write(
            .warning, "the disk is full: a download goes back to its last checkpoint",
            ["task": .name("\(task.record.id)")])
        let phase = machine.phase
        if phase == .attempting || phase == .held { stopAttempt() }
        if let point = download.goBack(from: spool) {
            task.beginReceiving(at: point.receivedCount)
        } else {
            dropReceived()
        }
        switch phase {
        case .attempting, .held, .finishing:
            retryDelay = TaskRunner.roomInterval
            send(.retry)
        default: save()
        }
        rest()
        return true
    }

    /// Whether another request can bring what has come, and the task is not on its way out.
    private var canFetchAgain: Bool {
        switch machine.phase {
        case .suspended(.some), .ending, .settled, .abandoned, .completed: false
        default:
            task.record.type == .download && task.record.currentRequest.isSafe
                && task.record.currentRequest.body == nil && task.canBeginAgain && !isOnePart
        }
    }

    /// The wait for the next attempt is over, unless that is also one for room.
    func retryIsDue() {
        guard download.lacksRoom else { return send(.retryDue) }
        let wait = timers.waitCount
        LoopActor.start { [self] in
            let failure = await download.findRoom()
            guard timers.waitCount == wait, machine.phase == .waitingForRetry, !isOver else {
                return
            }
            switch failure {
            case nil:
                download.hasRoomAgain()
                send(.retryDue)
            case let failure? where failure.isOutOfSpace || failure.isOutOfDescriptors:
                timers.waitOn(for: TaskRunner.roomInterval)
            case let failure?: send(.interrupted(.cannotWrite("\(failure)")))
            }
        }
    }
}

extension TaskRunner: ResumableDownloadOwner {
    var requestMethod: String { task.record.currentRequest.method }
    var checkpoint: DownloadCheckpoint? { task.record.checkpoint }
    var hasLiveAttempt: Bool { machine.hasLiveAttempt }
    var isReceiving: Bool { machine.isUnderWay }

    func downloadIsSafe(at point: ResumePoint) {
        task.record.checkpoint = DownloadCheckpoint(point: point, part: task.record.id)
        task.save()
    }

    /// Not `fail`: keeping the part would sync again, and be told that all is well. Of a task
    /// that is left to the next start, the record tells of what was there before.
    func downloadIsLost(_ error: any Error, in spool: ContentSpool) {
        guard !goesBack(after: error, in: spool) else { return }
        services.log.write(
            .error, "what has come of a download cannot be kept",
            ["task": .name("\(task.record.id)"), "error": .words("\(error)")])
        send(.interrupted(.cannotWrite("\(error)")))
    }
}

/// Ranges of one download, fetched side by side.
extension TaskRunner: SegmentOwner {
    func splitUp(from start: Int64 = 0, to end: Int64? = nil) {
        guard !caching.isServing else { return }
        let isSplit = download.splitUp(
            by: task.record.options.connections, from: start, to: end,
            {
                SegmentedTransfer.Common(
                    record: task.record, session: session, bandwidth: task.bandwidth,
                    clock: services.clock,
                    entity: $0)
            }, meter: makeMeter(), for: self)
        if isSplit { caching.notePatched() }
    }

    /// The task's own attempt is one of several, or the only one of them.
    func takeOfSegment(
        _ bytes: UnsafeRawBufferPointer, _ segments: SegmentedTransfer
    ) -> FlowVerdict {
        let taken = segments.primaryDidReceive(bytes)
        if let pause = taken.pause {
            exchange.notePause(pause)
            updateIdleTimer()
        }
        return taken.verdict
    }

    func endSegments() {
        for metrics in download.endSegments() { task.record.metrics.add(metrics) }
    }

    func segmentsDidMove() { timers.attemptMoved() }

    func segmentsDidReceive(_ count: Int) { task.hasReceived(count) }

    func segmentDidEnd(_ metrics: TransactionMetrics) { task.record.metrics.add(metrics) }

    func segmentsDidChangePace() { updateIdleTimer() }

    func segmentsGiveUpPrimary() {
        guard !exchange.isPaused(for: .sink), !exchange.isPaused(for: .rate),
            let metrics = exchange.stop()
        else { return }
        task.record.metrics.add(metrics)
        download.segments?.primaryDidEnd(
            AttemptEnd(error: nil, metrics: metrics, lengthVerified: true))
    }

    func segmentsDidEnd(_ outcome: SegmentedTransfer.Outcome) {
        guard download.segments != nil else { return }
        endSegments()
        if let metrics = exchange.stop() { task.record.metrics.add(metrics) }
        timers.attemptEnded()
        switch outcome {
        case .whole: send(.answered)
        case .failed(let error) where error.kind != .url(.badServerResponse): attemptFailed(error)
        // The answers to ranges make no sense: what one connection brings from zero on does.
        case .failed, .changed:
            download.beginAnew()
            dropReceived()
            tryAgain()
        }
    }
}
