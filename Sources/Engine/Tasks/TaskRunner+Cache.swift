internal import Loop
internal import Semantics

/// A task's slot, and what the cache of its session has to say.
extension TaskRunner: CacheFlowOwner {
    var hasSlot: Bool { slot != nil }
    var isBeforeAttempt: Bool { machine.phase == .waitingForSlot && !isOver }

    // MARK: Before an attempt

    func enterQueue() { caching.prepare(mayConsult: !download.asksForPart) }

    func enterLine() { session.queue.enter(self) }

    func slotGranted() {
        slot = destination
        caching.slotGranted(mayConsult: !download.asksForPart)
    }

    func cacheLetsBegin() { send(.slotGranted) }

    func cacheRefuses(with code: URLErrorCode) { fail(.url(code)) }

    func freeSlot() {
        caching.attemptEnded()
        guard let origin = slot else { return }
        slot = nil
        session.queue.free(origin)
    }

    func leaveQueue() {
        session.queue.leave(self)
        freeSlot()
    }

    func revalidationRequest(_ forwarding: Forwarding) -> AttemptRequest? {
        // What one who proves who he is gets, is stored for his own requests only.
        guard task.record.dialogue.authentication.server.use == nil,
            session.acceptedCredential(for: task.record.currentRequest.url) == nil
        else { return nil }
        presentAccepted()
        return session.attemptRequest(
            for: task.record, asking: nil, sending: nil, isLimited: task.isLimited,
            headers: forwarding.headers, method: forwarding.request.method)
    }

    // MARK: The answer

    /// Takes note of an origin's answer, once: what it does to the jar and to the cache.
    ///
    /// - Returns: what follows if it is not for the client.
    func note(_ head: ResponseHead) -> FlowVerdict? {
        guard !caching.isServing, !exchange.isHeadNoted else { return nil }
        exchange.isHeadNoted = true
        route.found()
        session.receiveCookies(of: head, to: task.record)
        noteAcceptance(by: head)
        guard download.rangeRequest == nil else { return nil }
        switch caching.take(head, from: task.record.currentRequest.url) {
        case .again: exchange.sequel = .again(nil)
        case .replay: exchange.sequel = .replay
        case nil: return nil
        }
        return .proceed
    }

    // MARK: Storing

    /// The response that the cache may keep of the task, whose content is whole; nil where there is
    /// none.
    func storable(_ length: Int64) -> NewResponse? {
        guard task.record.type != .download, download.rangeRequest == nil, lengthVerified else {
            return nil
        }
        return caching.storable(length, of: task.record)
    }

    /// Whether the body of a redirect that is followed is kept, to be stored with it.
    var keepsRedirect: Bool {
        guard case .follow = exchange.sequel, !task.handles(.cache) else { return false }
        return storable(0) != nil
    }

    /// A redirect is a response as any other, though the client never sees it.
    func storeRedirect(_ end: AttemptEnd) {
        guard caching.isRedirected, exchange.discardedBytes == 0, end.error == nil,
            end.lengthVerified,
            // S-84: a delegate that decides about the cache is not asked about what it does not
            // see.
            !task.handles(.cache), let new = storable(Int64(exchange.heldBody.count))
        else { return }
        caching.storeRedirect(new, exchange.heldBody)
    }

    /// A response may be stored: it is, if the delegate does not decide otherwise.
    func propose(_ new: NewResponse, _ content: NewContent) {
        guard task.handles(.cache), let response = task.record.response else {
            caching.store(new, content)
            return
        }
        caching.propose(new, content)
        ask(.cache) { .willCacheResponse(response, decision: $0) }
        save()
    }

    func cacheIsDone(_ stored: CacheStatus?) {
        if let stored, let headers = task.record.response?.headers.fields {
            // The cache has put its status behind all others when the response was shown.
            task.record.response?.headers = stored.appended(to: HeaderList(headers.dropLast()))
        }
        send(.contentKept)
    }
}
