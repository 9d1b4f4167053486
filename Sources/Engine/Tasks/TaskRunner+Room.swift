internal import Diagnostics
internal import Loop
internal import Semantics

/// What follows when the disk takes bytes, and has no room for them when they are to be there for
/// good: as with quotas, over the network, and where room is given late.
///
/// What a failed sync was about is not synced again: that would be told that all is well, whatever
/// has become of it. So what has come since the last checkpoint counts for nothing, and is
/// fetched again when there is room.
extension TaskRunner {
    private static let roomInterval = Duration.seconds(1)

    /// A sync, or what comes behind it, has failed.
    ///
    /// - Returns: false where the task cannot go on: the disk has failed, or nothing can be fetched
    ///   again.
    func goesBack(after error: any Error, in spool: ContentSpool) -> Bool {
        guard (error as? FileError)?.isOutOfSpace == true, canFetchAgain else { return false }
        guard case .spool(let current) = sink, current === spool else { return true }
        services.log.write(
            .warning, "the disk is full: a download goes back to its last checkpoint",
            ["task": .name("\(record.id)")])
        let phase = machine.phase
        if phase == .attempting || phase == .held { stopAttempt() }
        goBack(from: spool)
        laneWithoutRoom = spool.lane
        switch phase {
        case .attempting, .held, .finishing:
            retryDelay = TaskRunner.roomInterval
            send(.retry)
        default: save()
        }
        if isAtRest { owner?.rests(self) }
        return true
    }

    /// Whether another request can bring what has come, and the task is not on its way out.
    private var canFetchAgain: Bool {
        let isAnswered = machine.phase == .suspended && machine.hasLiveAttempt
        return record.type == .download && record.currentRequest.isSafe
            && record.currentRequest.body == nil && canBeginAgain && !isOnePart && !isAnswered
            && !isParking && !isOver
    }

    /// To what is there for good; without a checkpoint, or a way to ask for the rest, to nothing.
    private func goBack(from spool: ContentSpool) {
        guard let point = record.checkpoint?.point else { return dropReceived() }
        spool.close(isBroken: true)
        replacedLane = spool.lane
        sink = nil
        scattered = nil
        firstWriter = nil
        record.countOfBytesReceived = point.receivedCount
        shown.received = point.receivedCount
    }

    /// The wait for the next attempt is over, unless that is also one for room.
    func retryIsDue() {
        guard let lane = laneWithoutRoom else { return send(.retryDue) }
        let wait = timers.waitCount
        LoopActor.start { [self] in
            let failure = await findRoom(on: lane)
            guard timers.waitCount == wait, machine.phase == .waitingForRetry, !isOver else {
                return
            }
            switch failure {
            case nil:
                laneWithoutRoom = nil
                send(.retryDue)
            case let failure? where failure.isOutOfSpace || failure.isOutOfDescriptors:
                timers.waitOn(for: TaskRunner.roomInterval)
            case let failure?: send(.interrupted(.cannotWrite("\(failure)")))
            }
        }
    }

    /// Behind all that the lane has yet to write, takes up room behind what is there for good.
    /// - Returns: why there is none.
    private func findRoom(on lane: Int) async -> FileError? {
        let (folder, id) = (services.folder, record.id)
        let end = record.checkpoint?.point.received.last?.upperBound
        do {
            try await services.files.run(on: lane) {
                try ContentFile.takeRoom(behind: end, in: folder, for: id)
            }
            return nil
        } catch {
            return error as? FileError ?? FileError("write", code: 0)
        }
    }
}
