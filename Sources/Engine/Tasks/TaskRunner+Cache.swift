internal import Diagnostics
internal import Loop
internal import Semantics

/// What the cache of the session does for a task: it answers in the origin's place, and keeps what
/// the origin answers.
extension TaskRunner {
    // MARK: Before an attempt

    /// The next attempt is the cache's answer, or stands in line for a slot of its host.
    func enterQueue() {
        if caching?.planned != nil {
            serve()
        } else if let caching, caching.isDecided {
            caching.isDecided = false
            session.queue.enter(self)
        } else if let cache = session.cache, mayConsult {
            consult(cache)
        } else {
            caching = nil
            session.queue.enter(self)
        }
    }

    /// It is the task's turn. The cache is asked again, for what has come while it waited: that
    /// holds the slot, so that of all who wait no more ask the disk, or hold what is stored, than
    /// have slots.
    func slotGranted() {
        slot = destination
        if let caching, let forwarding = caching.forwarding {
            takeUp(forwarding)
        } else if let cache = session.cache, mayConsult {
            consult(cache)
        } else {
            send(.slotGranted)
        }
    }

    func freeSlot() {
        caching?.isServing = false
        guard let origin = slot else { return }
        slot = nil
        session.queue.free(origin)
    }

    func leaveQueue() {
        session.queue.leave(self)
        freeSlot()
    }

    /// What goes on from bytes that are here asks for the rest, which is no cache's business.
    private var mayConsult: Bool {
        !download.asksForPart
    }

    private func consult(_ cache: ResponseCache) {
        // Behind a start the index is read first, and all who wait for it hold nothing yet.
        guard cache.isOpen || slot != nil else { return lineUp(at: cache) }
        let request = CacheRequest(record, in: session)
        caching = TaskCaching(request, fetch: cache.beginFetch())
        if let found = cache.candidatesAtHand(for: request.key) {
            decide(by: cache, found)
        } else if slot == nil {
            lineUp(at: cache)
        } else {
            let lookUp = beginLookUp()
            LoopActor.start { [self] in await finish(lookUp, for: request, in: cache) }
        }
    }

    private func lineUp(at cache: ResponseCache) {
        caching = nil
        let lookUp = beginLookUp()
        cache.lineUp { [self] in await takeTurn(lookUp, at: cache) }
    }

    /// The look-up of a task that has no slot, one at a time.
    private func takeTurn(_ lookUp: Int, at cache: ResponseCache) async {
        guard isLookingUp(lookUp) else { return }
        let request = CacheRequest(record, in: session)
        caching = TaskCaching(request, fetch: cache.beginFetch())
        await finish(lookUp, for: request, in: cache)
    }

    private func finish(
        _ lookUp: Int, for request: CacheRequest, in cache: ResponseCache
    ) async {
        let found = await cache.candidates(for: request.key)
        if isLookingUp(lookUp) { decide(by: cache, found) }
    }

    private func decide(by cache: ResponseCache, _ candidates: [CacheCandidate]) {
        guard let request = caching?.request else { return }
        caching?.candidates = candidates
        let now = services.clock.now
        let decision = CacheDecision(
            request, candidates: candidates.map(\.entry.response), at: now)
        switch decision {
        case .serve(let answer): plan(answer, from: cache)
        case .serveWhileRevalidating(let answer, let forwarding):
            revalidate(forwarding, in: cache)
            plan(answer, from: cache)
        case .forward(let forwarding):
            caching?.forwarding = forwarding
            if slot == nil { waitForSlot() } else { takeUp(forwarding) }
        case .fail(let code): fail(.url(code))
        }
    }

    /// Stands in line. Where that takes time, what was found is let go: many may wait.
    private func waitForSlot() {
        let found = caching
        session.queue.enter(self)
        if slot == nil, machine.phase == .waitingForSlot, caching === found { caching = nil }
    }

    /// The request goes to the origin, and what it is about is held until the answer.
    private func takeUp(_ forwarding: Forwarding) {
        guard caching?.held == nil, let cache = session.cache,
            let selected = caching?.candidate(forwarding.selected?.id)
        else { return send(.slotGranted) }
        if let content = selected.content {
            caching?.held = content
            return send(.slotGranted)
        }
        let lookUp = beginLookUp()
        LoopActor.start { [self] in
            let content = await cache.content(of: selected)
            guard isLookingUp(lookUp) else { return }
            caching?.held = content
            if content == nil { caching?.forwarding = forwarding.unconditional }
            send(.slotGranted)
        }
    }

    /// The answer is the cache's: once its content is at hand, for which one that is a file needs a
    /// slot.
    private func plan(_ answer: CachedAnswer, from cache: ResponseCache) {
        guard let candidate = caching?.candidate(answer.entry) else {
            plan(answer, .bytes([]), httpVersion: "1.1", status: nil)
            return
        }
        guard candidate.content != nil || slot != nil else { return waitForSlot() }
        cache.noteUse(of: candidate.entry.id)
        let status = CacheStatus(hit: candidate.entry.response, at: services.clock.now)
        let version = candidate.entry.response.httpVersion
        if let content = candidate.content {
            plan(answer, content, httpVersion: version, status: status)
            return
        }
        let lookUp = beginLookUp()
        LoopActor.start { [self] in
            let content = await cache.content(of: candidate)
            guard isLookingUp(lookUp) else { return }
            if let content {
                plan(answer, content, httpVersion: version, status: status)
            } else {
                consult(cache)  // it was gone: what else is there?
            }
        }
    }

    private func plan(
        _ answer: CachedAnswer, _ content: CachedContent, httpVersion: String,
        status: CacheStatus?
    ) {
        caching?.planned = TaskCaching.Planned(
            answer: answer, content: content, status: status, httpVersion: httpVersion)
        serve()
    }

    private func serve() {
        caching?.isServing = true
        send(.slotGranted)
    }

    private func beginLookUp() -> Int {
        lookUpCount += 1
        return lookUpCount
    }

    /// Whether a look-up is still the newest, and the task waits for it: it may have been
    /// suspended, or have ended.
    private func isLookingUp(_ lookUp: Int) -> Bool {
        lookUp == lookUpCount && machine.phase == .waitingForSlot && !isOver
    }

    // MARK: The attempt

    /// The attempt that replays the answer that was planned; nil where none was.
    func takeReplay() -> CachedReplay? {
        guard let planned = caching?.planned else { return nil }
        caching?.planned = nil
        caching?.status = planned.status
        let head = ResponseHead(
            status: planned.answer.status, httpVersion: planned.httpVersion,
            headers: planned.answer.headers)
        return CachedReplay(
            planned.answer, head, planned.content, to: record.currentRequest,
            files: services.files, clock: services.clock, observer: self)
    }

    /// All fields that the next attempt sends, if the cache has had its say about them; with the
    /// cookies of this moment.
    func forwardedHeaders() -> HeaderList? {
        guard download.rangeRequest == nil, let caching, let headers = caching.forwarding?.headers
        else {
            return nil
        }
        caching.request.headers = session.refreshingCookies(
            of: caching.request.headers, for: record)
        return session.refreshingCookies(of: headers, for: record)
    }

    /// Takes note of an origin's answer, once: what it does to the jar and to the cache.
    ///
    /// - Returns: what follows if it is not for the client.
    func note(_ head: ResponseHead) -> FlowVerdict? {
        guard caching?.isServing != true, !exchange.isHeadNoted else { return nil }
        exchange.isHeadNoted = true
        routeTries = 0
        let now = services.clock.now
        let url = record.currentRequest.url
        session.receiveCookies(of: head, to: record)
        noteAcceptance(by: head)
        guard let cache = session.cache, let forwarding = caching?.forwarding,
            download.rangeRequest == nil
        else { return nil }
        let answer = OriginAnswer(
            head, at: url, requestTime: caching?.requestTime ?? now, responseTime: now,
            resolve: { try? services.transport.resolve($0, against: url) })
        let update = cache.take(
            answer, to: forwarding, foundBefore: caching?.candidates ?? [])
        if update.invalidated.contains(forwarding.request.key) {
            caching?.fetch = cache.beginFetch()  // not this answer, but what was asked for before
        }
        let status = CacheStatus(forwarded: forwarding, answer: answer, update: update)
        caching?.answered = (head, now, update)
        switch update.delivery {
        case .origin: caching?.status = status
        case .validated(let stored), .stale(let stored):
            return replay(stored, status)
        case .again(let other):
            caching?.forwarding = other
            caching?.isDecided = true
            exchange.sequel = .again(nil)
            return .proceed
        }
        return nil
    }

    /// In place of the answer that is coming, the cache's follows.
    private func replay(_ answer: CachedAnswer, _ status: CacheStatus) -> FlowVerdict {
        guard planStored(answer, status) else {
            exchange.sequel = .again(nil)
            return .proceed
        }
        exchange.sequel = .replay
        return .proceed
    }

    private func planStored(_ answer: CachedAnswer, _ status: CacheStatus) -> Bool {
        guard let held = caching?.held, let selected = caching?.forwarding?.selected else {
            return false
        }
        session.cache?.noteUse(of: CacheEntryID(rawValue: selected.id))
        caching?.answered = nil
        caching?.planned = TaskCaching.Planned(
            answer: answer, content: held, status: status, httpVersion: selected.httpVersion)
        return true
    }

    /// The head as the client is given it.
    func shown(_ head: ResponseHead) -> ResponseHead {
        guard let status = caching?.status else { return head }
        var head = head
        head.headers = status.appended(to: head.headers)
        return head
    }

    /// Where what is stored may stand in for an attempt that has failed, it does (RFC 5861 §4).
    func standsIn(for error: TransferError) -> Bool {
        guard error.mayBeHidden, record.response == nil, let forwarding = caching?.forwarding,
            let answer = forwarding.answerInPlaceOfError(at: services.clock.now),
            planStored(answer, CacheStatus(forwarded: forwarding, answer: nil, update: nil))
        else { return false }
        tryAgain()
        return true
    }

    // MARK: Storing

    /// The response that the cache may keep of the task, whose content is whole; nil where there is
    /// none.
    func storable(_ length: Int64) -> NewResponse? {
        guard let caching, let answered = caching.answered, !caching.isServing,
            answered.update.delivery == .origin, answered.update.storability == .storable,
            record.type != .download, !caching.isPatched, download.rangeRequest == nil,
            lengthVerified,
            mayShare(answered.head),
            session.record.state != .invalid
        else { return nil }
        return NewResponse(
            request: caching.request, head: answered.head, requestTime: caching.requestTime,
            responseTime: answered.time, length: length, fetch: caching.fetch)
    }

    /// Whether the body of a redirect that is followed is kept, to be stored with it.
    var keepsRedirect: Bool {
        guard case .follow = exchange.sequel, !handles(.cache) else { return false }
        return storable(0) != nil
    }

    /// A redirect is a response as any other, though the client never sees it.
    func storeRedirect(_ end: AttemptEnd) {
        guard let status = caching?.answered?.head.status, Redirection.isRedirect(status),
            exchange.discardedBytes == 0, end.error == nil, end.lengthVerified,
            // S-84: a delegate that decides about the cache is not asked about what it does not
            // see.
            !handles(.cache), let cache = session.cache
        else { return }
        let body = exchange.heldBody
        guard let new = storable(Int64(body.count)), cache.storeAtOnce(new, .bytes(body)) == nil
        else { return }
        LoopActor.start { await cache.store(new, .bytes(body)) }
    }

    /// What a server answers for one who has proved who he is, and says so by `Vary`, would have to
    /// be found by that proof.
    private func mayShare(_ head: ResponseHead) -> Bool {
        guard record.dialogue.authentication.server.use != nil else { return true }
        return !head.headers.values(of: "Vary").contains {
            $0.lowercased().split(separator: ",").contains {
                $0.trimmingPrefix(while: \.isWhitespace).hasPrefix("authorization")
            }
        }
    }

    /// A response may be stored: it is, if the delegate does not decide otherwise.
    func propose(_ new: NewResponse, _ content: NewContent) {
        guard handles(.cache), let response = record.response else {
            store(new, content)
            return
        }
        proposedForCache = (new, content)
        ask(.cache) { .willCacheResponse(response, decision: $0) }
        save()
    }

    /// Stores a response, and goes on to the task's end.
    private func store(_ new: NewResponse, _ content: NewContent) {
        guard let cache = session.cache else { return send(.contentKept) }
        if let isStored = cache.storeAtOnce(new, content) { return noteStored(isStored) }
        LoopActor.start { [self] in
            noteStored(await cache.store(new, content))
        }
    }

    /// `Cache-Status` says `stored` of what is, and of nothing else: not when the head comes, whose
    /// body may be cut.
    private func noteStored(_ isStored: Bool) {
        if isStored, var status = caching?.status, let headers = record.response?.headers.fields {
            status.isStored = true
            // `shown` has put it behind all others.
            record.response?.headers = status.appended(to: HeaderList(headers.dropLast()))
        }
        send(.contentKept)
    }

    // MARK: Decisions (S-71)

    /// The delegate has said what becomes of the response in the cache.
    func apply(_ disposition: CacheDisposition) {
        guard let (new, content) = proposedForCache else { return send(.contentKept) }
        proposedForCache = nil
        switch disposition {
        case .refuse: send(.contentKept)
        case .store(let policy, let userInfo):
            var new = new
            new.policy = policy ?? new.policy
            new.userInfo = userInfo ?? [:]
            store(new, content)
        }
    }

    // MARK: Revalidation (RFC 5861 §3)

    private func revalidate(_ forwarding: Forwarding, in cache: ResponseCache) {
        guard let entry = forwarding.selected.map({ CacheEntryID(rawValue: $0.id) }),
            cache.revalidations[entry] == nil,
            // What one who proves who he is gets, is stored for his own requests only.
            record.dialogue.authentication.server.use == nil,
            session.acceptedCredential(for: record.currentRequest.url) == nil
        else { return }
        presentAccepted()
        let request = AttemptRequest(
            record, in: session, asking: nil, sending: nil, isLimited: isLimited,
            headers: forwarding.headers, method: forwarding.request.method)
        cache.revalidations[entry] = Revalidation(
            of: entry, forwarding, by: request, for: record, among: caching?.candidates ?? [],
            in: session, cache, services)
    }
}
