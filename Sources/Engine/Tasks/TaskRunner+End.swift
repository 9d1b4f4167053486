internal import Loop
internal import Semantics

/// How a task ends.
extension TaskRunner {
    func complete(_ error: TransferError?) {
        let isWhole = error == nil
        record.state = .completed
        record.suspendCount = 0
        record.hasLiveAttempt = false
        record.checkpoint = nil
        noteEnd()
        record.error = error.map {
            $0.failingURL == nil ? $0.at(record.currentRequest.url.string) : $0
        }
        leave()
        let hub = services.hub
        if isWhole, record.type == .download {
            hub.publish(.didFinishDownloading, of: record.id, in: session)
        }
        hub.publish(.didFinishCollectingMetrics(record.metrics), of: record.id, in: session)
        hub.publish(.didComplete(record.error), of: record.id, in: session)
        endWaits()
        services.onCompletion?(self)
    }

    /// The task goes on as another one (S-70).
    func retire() {
        record.state = .completed
        record.suspendCount = 0
        record.hasLiveAttempt = false
        noteEnd()
        content.endHere()
        leave()
        if let heir = record.dialogue.becameTask {
            services.hub.publish(.didBecomeDownloadTask(heir), of: record.id, in: session)
        }
        endWaits()
        services.onCompletion?(self)
    }

    private func noteEnd() {
        record.completedAt = services.clock.now
        record.keptSince = services.keptClock.now
    }

    // MARK: The end of the process

    /// Nothing moves any more.
    func standStill() {
        stopAttempt()
        timers.stop()
    }

    /// The next process tells what became of the task.
    func letGo() {
        timers.stop()
        stopWaitingForConnectivity()
        dialogue.abandon()
        _ = exchange.stop()
        _ = download.segments?.stop()
        upload?.tell(.gatewayStops)
        content.close()
        endWaits()
    }

    // MARK: The end of the task

    /// What the end of a task leaves nothing of.
    private func leave() {
        timers.stop()
        stopWaitingForConnectivity()
        caching.end()
        session.resourceTimeLeft[record.id] = nil
        services.progress.forget(self)
        services.checkpoints.forget(self)
        upload?.end(.taskEnded(record.error))
        leaveTrustLine()
        dialogue.close(as: .withdrawn)
        dropHeld()
        if record.dialogue != TaskDialogue() {
            record.dialogue.authentication = TaskAuthentication()
            record.dialogue.hasToldOfWaiting = false
            record.dialogue.keptAnswer = nil
        }
        showProgress()
        session.journal.save(record)
    }
}
