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
        owner?.completed(self)
    }

    /// The task goes on as another one (S-70).
    func retire() {
        record.state = .completed
        record.suspendCount = 0
        record.hasLiveAttempt = false
        noteEnd()
        endDelivery()
        leave()
        if let heir = record.dialogue.becameTask {
            services.hub.publish(.didBecomeDownloadTask(heir), of: record.id, in: session)
        }
        endWaits()
        owner?.completed(self)
    }

    private func noteEnd() {
        record.completedAt = services.clock.now
        record.keptSince = services.keptClock.now
    }

    /// The parts before the one that another task goes on with: a reader has them, and nobody keeps
    /// them.
    private func endDelivery() {
        switch sink {
        case .pipe(let pipe): pipe.finish(.success(()))
        case .spool(let spool):
            spool.close(isBroken: true)
            discardPart(of: spool)
        case nil: break
        }
        sink = nil
    }

    /// What the end of a task leaves nothing of.
    private func leave() {
        timers.stop()
        stopWaitingForConnectivity()
        caching = nil
        proposedForCache = nil
        session.resourceTimeLeft[record.id] = nil
        services.progress.forget(self)
        services.checkpoints.forget(self)
        upload?.end(.taskEnded(record.error))
        leaveTrustLine()
        closeDecision(as: .withdrawn)
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
