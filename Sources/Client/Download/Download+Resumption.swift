internal import JSON

/// What becomes of a download that could not be finished.
extension Download {
    /// What the download goes on with after `error`; else puts everything in order, so that nothing
    /// is left at the gateway but what another command goes on with, and throws the error.
    func resumption(of feed: TaskFeed, after error: ClientError) throws(ClientError) -> Beginning {
        switch error {
        case .transferFailed where hasNoHost && feed.progress.ending == nil:
            client.abandon(feed)
            return .anew
        case .transferFailed(let failure):
            guard let data = failure.resumeData else { break }
            // Kept before the task is gone: whatever happens now, it is not lost.
            var isNoted = true
            do throws(ClientError) {
                try keep(resumeData: data)
            } catch {
                isNoted = !isLeft(feed, despite: error)
                if isNoted { tellOfLoss(error) }
            }
            if isNoted { client.forget(feed.id) }
            guard failure.isOfStoppedGateway, mayResume(feed.progress) else { throw error }
            display.note("the gateway was stopped; resuming")
            return .resumeData(data)
        case .serverAnswered where beginning != .anew && delegate.hasGivenUp:
            // A password that nobody knew today is no reason to lose what is there.
            salvage(feed, after: error)
            throw error
        case .serverAnswered where beginning != .anew:
            // Perhaps by what the first command asked with: an address or a password that is good
            // no more.
            client.abandon(feed)
            try startOver(error.description)
            return .anew
        // The task is gone.
        case .refused(let problem) where problem.status == 404: break
        case .interrupted, .unreachable, .untrusted, .file, .refused, .unexpectedAnswer:
            salvage(feed, after: error)
            throw error
        default: break
        }
        client.abandon(feed)
        try target?.forget()
        throw error
    }

    /// Leaves what another command can go on with; the whole transfer is given up where there is
    /// nothing.
    private func salvage(_ feed: TaskFeed, after error: ClientError) {
        do throws(ClientError) {
            // Nobody could find it without a name.
            guard target?.canBeLeft == true else { return client.abandon(feed) }
            feed.close()
            client.heedInterrupts()
            switch (feed.progress.ending, error) {
            case (nil, .unreachable), (nil, .untrusted), (nil, .unexpectedAnswer): try keep(feed)
            // Who is not let in, or not served, now could not cancel it, either.
            case (nil, .refused(let problem)) where problem.isOfCaller || problem.status >= 500:
                try keep(feed)
            // The gateway has room still. A part that could not be written has to make some.
            case (_, .file): try keep(feed)
            case (nil, _): try cancel(feed)
            case (.failed, _): try keep(feed)
            case (.succeeded, _) where (feed.progress.response?.status ?? 0) >= 400:
                // The server's words about a refusal are no beginning of the file.
                client.forget(feed.id)
                try target?.forget()
            case (.succeeded, _): try keepContent(of: feed)
            }
        } catch {
            guard !isLeft(feed, despite: error) else { return }
            client.abandon(feed)
            tellOfLoss(error)
        }
    }

    /// Whether what was left before leads to the task as well: a file that cannot be written anew
    /// is no reason to lose it.
    private func isLeft(_ feed: TaskFeed, despite error: ClientError) -> Bool {
        guard case .file = error, let point = target?.point, point.task == feed.id else {
            return false
        }
        return true
    }

    /// Cancels a running task in the way that lets another one go on (rule S-34).
    private func cancel(_ feed: TaskFeed) throws(ClientError) {
        let answer: JSONValue
        do throws(ClientError) {
            answer = try client.json(
                "POST", RemoteTask.path(feed.id, "/cancel"),
                json: Array(#"{"producingResumeData":true}"#.utf8), seconds: 15)
        } catch {
            // Whoever presses Ctrl-C again wants nothing to be left.
            guard error != .interrupted else {
                client.abandon(feed)
                return try target?.forget() ?? ()
            }
            guard error.isPassing else { throw error }
            // It may be cancelled, or not; another command will see.
            return try keep(feed)
        }
        let task = try RemoteTask(answer)
        if let data = answer["resumeData"]?.string {
            try keep(resumeData: data)
            client.forget(feed.id)
        } else if task.isCompleted, task.failure == nil {
            // It has succeeded in that very moment.
            try keepContent(of: feed)
        } else {
            client.forget(feed.id)
            try target?.forget()
        }
    }

    /// Leaves a completed task, and what the part has of its content.
    private func keepContent(of feed: TaskFeed) throws(ClientError) {
        try target?.save(
            task: feed.id, of: feed.session, resumeData: nil,
            count: delivery?.count ?? target?.point?.partialLength ?? 0)
    }

    private func keep(_ feed: TaskFeed) throws(ClientError) {
        try target?.save(task: feed.id, of: feed.session, resumeData: nil)
    }

    private func keep(resumeData: String) throws(ClientError) {
        try target?.save(task: nil, resumeData: resumeData)
    }

    /// There will be nothing new to go on with, because of `error`. Resume data that were left
    /// before stay: they may be good still.
    private func tellOfLoss(_ error: ClientError) {
        if case .file = error, target?.point?.resumeData != nil {
            return display.note("what was left before stays as it is: \(error)")
        }
        display.note("nothing is left to resume: \(error)")
        do throws(ClientError) {
            try target?.forget()
        } catch {
            display.note("\(error)")
        }
    }
}
