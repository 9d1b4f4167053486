internal import Loop
internal import Semantics

/// How a task ends.
extension TaskRunner {
    func complete(_ error: TransferError?) {
        let isWhole = error == nil
        task.record.state = .completed
        task.record.suspendCount = 0
        task.record.hasLiveAttempt = false
        task.record.checkpoint = nil
        noteEnd()
        task.record.error = error.map {
            $0.failingURL == nil ? $0.at(task.record.currentRequest.url.string) : $0
        }
        leave()
        if isWhole, task.record.type == .download {
            task.publish(.didFinishDownloading)
        }
        task.publish(.didFinishCollectingMetrics(task.record.metrics))
        task.publish(.didComplete(task.record.error))
        hasEnded()
    }

    /// The task goes on as another one (S-70).
    func retire() {
        task.record.state = .completed
        task.record.suspendCount = 0
        task.record.hasLiveAttempt = false
        noteEnd()
        content.endHere()
        leave()
        if let heir = task.record.dialogue.becameTask {
            task.publish(.didBecomeDownloadTask(heir))
        }
        hasEnded()
    }

    private func noteEnd() {
        task.record.completedAt = services.clock.now
        task.record.keptSince = services.keptClock.now
    }

    // MARK: The end of the process

    /// Nothing moves any more.
    func standStill() {
        stopAttempt()
        timers.stop()
        dialogue.runClock(false)
    }

    /// The next process tells what became of the task.
    func letGo() {
        timers.stop()
        route.stopWaiting()
        dialogue.abandon()
        _ = exchange.stop()
        _ = download.segments?.stop()
        upload?.tell(.gatewayStops)
        content.close()
        waiters.end()
    }

    // MARK: The end of the task

    /// What the end of a task leaves nothing of.
    private func leave() {
        timers.stop()
        route.stopWaiting()
        caching.end()
        task.record.resourceTime = nil
        services.progress.forget(task)
        services.checkpoints.forget(download)
        upload?.end(.taskEnded(task.record.error))
        leaveTrustLine()
        dialogue.close(as: .withdrawn)
        task.dropHeld()
        if task.record.dialogue != TaskDialogue() {
            task.record.dialogue.authentication = TaskAuthentication()
            task.record.dialogue.hasToldOfWaiting = false
            task.record.dialogue.keptAnswer = nil
        }
        task.showProgress()
        task.save()
    }
}
