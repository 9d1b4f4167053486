internal import Diagnostics
internal import Files
internal import Glibc
internal import Loop
internal import Metrics
internal import Semantics

/// Hears what the cache has to say about a task.
@LoopActor
protocol CacheFlowOwner: AnyObject {
    /// The task as it is now.
    var record: TaskRecord { get }
    /// Whether the task has a slot of its host.
    var hasSlot: Bool { get }
    /// Whether the task waits for a slot, or for the cache's word: it may have been suspended since
    /// it asked, or have ended.
    var isBeforeAttempt: Bool { get }
    /// The task waits for a slot of its host.
    func enterQueue()
    /// The attempt begins.
    func cacheLetsBegin()
    /// There is no answer that the request's policy allows.
    func cacheRefuses(with code: URLErrorCode)
    /// Nothing more is stored; what was, has this status.
    func cacheIsDone(_ stored: CacheStatus?)
    /// The request that asks the origin whether what is stored is still valid.
    func revalidationRequest(_ forwarding: Forwarding) -> AttemptRequest?
}

/// What the cache of the session does for a task: it answers in the origin's place, and keeps what
/// the origin answers (S-15, S-24, S-84; RFC 9111).
@LoopActor
final class CacheFlow {
    /// A response that the cache would store. Apart from what has it, since there seldom is one.
    private indirect enum Proposal {
        case of(NewResponse, NewContent)
    }

    var owner: (any CacheFlowOwner)?
    private let session: LiveSession
    private let services: TaskServices
    /// How the cache deals with the current request; nil where it does not.
    private var current: TaskCaching?
    /// Counts the look-ups in the cache.
    private var lookUpCount = 0
    /// What the delegate is asked about.
    private var proposal: Proposal?
    /// Stored responses whose contents this task could not read: to it they are not there.
    private var unreadable: Set<CacheEntryID> = []

    init(in session: LiveSession, services: TaskServices) {
        self.session = session
        self.services = services
    }

    /// Whether the attempt is, or will be, the cache's own answer: no slot is held for it.
    var isServing: Bool { current?.isServing == true }
    /// Whether the next attempt is the cache's own answer.
    var hasAnswer: Bool { current?.planned != nil }
    /// Whether anything is held of what the cache has.
    var isHolding: Bool { current != nil }

    /// Another task goes on with this one's attempt (S-70).
    func inherit(_ other: CacheFlow) { current = other.current }

    /// The task has ended.
    func end() {
        current = nil
        proposal = nil
    }

    // MARK: Before an attempt

    /// The next attempt is the cache's answer, or waits for a slot of its host.
    ///
    /// - Parameter mayConsult: false for what goes on from bytes that are here: it asks for the
    ///   rest, which is no cache's business.
    func prepare(mayConsult: Bool) {
        // A look-up of an earlier wait, which the task was suspended in, comes to nothing.
        _ = beginLookUp()
        if hasAnswer {
            serve()
        } else if let current, current.isDecided {
            current.isDecided = false
            owner?.enterQueue()
        } else if mayConsult {
            consult()
        } else {
            current = nil
            owner?.enterQueue()
        }
    }

    /// It is the task's turn. The cache is asked again, for what has come while it waited: that
    /// holds the slot, so that of all who wait no more ask the disk, or hold what is stored, than
    /// have slots.
    func slotGranted(mayConsult: Bool) {
        if let forwarding = current?.forwarding {
            takeUp(forwarding)
        } else if mayConsult {
            consult()
        } else {
            owner?.cacheLetsBegin()
        }
    }

    /// The attempt is over, or there will be none.
    func attemptEnded() { current?.isServing = false }

    private func consult() {
        guard let owner else { return }
        guard let cache = session.cache else {
            // The policy counts without a cache, too: some forbid to ask, others ask caches on the
            // way to stand aside.
            current = TaskCaching(session.cacheRequest(for: owner.record), fetch: 0)
            return decide(by: nil, [])
        }
        // Behind a start the index is read first, and all who wait for it hold nothing yet.
        guard cache.isOpen || owner.hasSlot else { return waitForTurn(at: cache) }
        let request = session.cacheRequest(for: owner.record)
        current = TaskCaching(request, fetch: cache.beginFetch())
        if let found = cache.candidatesInMemory(for: request.key) {
            decide(by: cache, found)
        } else if !owner.hasSlot {
            waitForTurn(at: cache)
        } else {
            let lookUp = beginLookUp()
            LoopActor.start { [self] in await finish(lookUp, for: request, in: cache) }
        }
    }

    private func waitForTurn(at cache: ResponseCache) {
        current = nil
        let lookUp = beginLookUp()
        cache.enqueue { [self] in await takeTurn(lookUp, at: cache) }
    }

    /// The look-up of a task that has no slot, one at a time.
    private func takeTurn(_ lookUp: Int, at cache: ResponseCache) async {
        guard isLookingUp(lookUp), let owner else { return }
        let request = session.cacheRequest(for: owner.record)
        current = TaskCaching(request, fetch: cache.beginFetch())
        await finish(lookUp, for: request, in: cache)
    }

    private func finish(
        _ lookUp: Int, for request: CacheRequest, in cache: ResponseCache
    ) async {
        let found = await cache.candidates(for: request.key)
        if isLookingUp(lookUp) { decide(by: cache, found) }
    }

    private func decide(by cache: ResponseCache?, _ candidates: [CacheCandidate]) {
        guard let owner, let current else { return }
        let candidates = candidates.filter {
            !unreadable.contains($0.entry.id)
                && !($0.entry.response.selecting.areOfNobody && isProved(owner.record))
        }
        current.candidates = candidates
        let decision = CacheDecision(
            current.request, candidates: candidates.map(\.entry.response), at: services.clock.now)
        switch decision {
        case .serve(let answer): plan(answer, from: cache)
        case .serveWhileRevalidating(let answer, let forwarding):
            if let cache { revalidate(forwarding, in: cache) }
            plan(answer, from: cache)
        case .forward(let forwarding):
            current.forwarding = forwarding
            if owner.hasSlot { takeUp(forwarding) } else { waitForSlot() }
        case .fail(let code): owner.cacheRefuses(with: code)
        }
    }

    /// Whether the request goes out with a proof of who asks that is not among its own fields: what
    /// anybody gets is not what it would be answered.
    private func isProved(_ record: TaskRecord) -> Bool {
        guard !record.headers(in: session.record).contains("Authorization") else { return false }
        return record.dialogue.authentication.server.use != nil
            || session.acceptedCredential(for: record.currentRequest.url) != nil
    }

    /// Waits for its turn. Where that takes time, what was found is let go: many may wait.
    private func waitForSlot() {
        guard let owner else { return }
        let found = current
        owner.enterQueue()
        if !owner.hasSlot, owner.isBeforeAttempt, current === found { current = nil }
    }

    /// The request goes to the origin, and what it is about is held until the answer.
    private func takeUp(_ forwarding: Forwarding) {
        guard current?.held == nil, let cache = session.cache,
            let selected = current?.candidate(forwarding.selected?.id)
        else {
            owner?.cacheLetsBegin()
            return
        }
        if let content = selected.content {
            current?.held = content
            owner?.cacheLetsBegin()
            return
        }
        let lookUp = beginLookUp()
        LoopActor.start { [self] in
            let finding = await cache.content(of: selected)
            guard isLookingUp(lookUp) else { return }
            if case .content(let content) = finding {
                current?.held = content
            } else {
                current?.forwarding = forwarding.unconditional
            }
            owner?.cacheLetsBegin()
        }
    }

    /// The answer is the cache's, once its content is there. One that is a file may be opened by
    /// so many tasks without a slot; the others wait for one.
    private func plan(_ answer: CachedAnswer, from cache: ResponseCache?) {
        guard let cache, let candidate = current?.candidate(answer.entry) else {
            plan(answer, .bytes([]), httpVersion: "1.1", status: nil)
            return
        }
        let needsPermit = candidate.content == nil && owner?.hasSlot != true
        let permit = needsPermit ? cache.permitToRead() : nil
        guard !needsPermit || permit != nil else { return waitForSlot() }
        cache.noteUse(of: candidate.entry.id)
        let status = CacheStatus(hit: candidate.entry.response, at: services.clock.now)
        let version = candidate.entry.response.httpVersion
        if let content = candidate.content {
            plan(answer, content, httpVersion: version, status: status)
            return
        }
        let lookUp = beginLookUp()
        LoopActor.start { [self] in
            let finding = await cache.content(of: candidate)
            guard isLookingUp(lookUp) else { return }
            switch finding {
            case .content(let content):
                plan(answer, content, httpVersion: version, status: status, permit)
            case .unreadable:
                unreadable.insert(candidate.entry.id)
                consult()  // as if it was not there
            case .gone: consult()  // what else is there?
            }
        }
    }

    private func plan(
        _ answer: CachedAnswer, _ content: CachedContent, httpVersion: String,
        status: CacheStatus?, _ permit: SharedPermit? = nil
    ) {
        current?.planned = TaskCaching.Planned(
            answer: answer, content: content, status: status, httpVersion: httpVersion,
            permit: permit)
        serve()
    }

    private func serve() {
        current?.isServing = true
        owner?.cacheLetsBegin()
    }

    private func beginLookUp() -> Int {
        lookUpCount += 1
        return lookUpCount
    }

    /// Whether a look-up is still the newest, and the task waits for it.
    private func isLookingUp(_ lookUp: Int) -> Bool {
        lookUp == lookUpCount && owner?.isBeforeAttempt == true
    }

    // MARK: The attempt

    /// The attempt that replays the answer that was planned; nil where none was.
    func takeReplay(to request: RequestRecord, for observer: any AttemptObserver) -> CachedReplay? {
        guard let current, let planned = current.planned else { return nil }
        current.planned = nil
        current.status = planned.status
        if planned.status?.handling == .hit { services.tally.cacheOutcomes.add("hit") }
        let head = ResponseHead(
            status: planned.answer.status, httpVersion: planned.httpVersion,
            headers: planned.answer.headers)
        return CachedReplay(
            planned.answer, head, planned.content, to: request, clock: services.clock,
            observer: observer
        ) { [weak self] error, isBegun in
            guard let entry = planned.answer.entry else { return }
            self?.contentFailed(CacheEntryID(rawValue: entry), error, isBegun: isBegun)
        }
    }

    /// What the cache has cannot be read. Before anything was told of it the task does without;
    /// else it ends, and so would others, unless the cache forgets it.
    private func contentFailed(_ entry: CacheEntryID, _ error: FileError, isBegun: Bool) {
        unreadable.insert(entry)
        services.log.write(
            .warning, "a stored response cannot be read", ["error": .words("\(error)")])
        let isDamaged = [0, ENOENT, ESTALE].contains(error.code)
        if isDamaged || (isBegun && !error.isForLater) { session.cache?.forget(entry) }
    }

    /// A request goes out to the origin now.
    ///
    /// - Returns: all its fields, if the cache has had its say about them; with the cookies of this
    ///   moment.
    func attemptBegins(_ record: @autoclosure () -> TaskRecord, isWhole: Bool) -> HeaderList? {
        guard let current else { return nil }
        current.requestTime = services.clock.now
        if session.cache != nil, let reason = current.forwarding?.reason {
            services.tally.cacheOutcomes.add(reason.rawValue)
        }
        guard isWhole, let headers = current.forwarding?.headers else { return nil }
        let record = record()
        current.request.headers = session.refreshingCookies(
            of: current.request.headers, for: record)
        return session.refreshingCookies(of: headers, for: record)
    }

    /// What follows an origin's answer that is not for the client.
    enum NextAttempt {
        /// The request goes out once more, in another form.
        case again
        /// What the cache has planned.
        case replay
    }

    /// Takes note of what an origin's answer does to the cache.
    /// - Returns: what follows if it is not for the client.
    func take(_ head: ResponseHead, from url: WebURL) -> NextAttempt? {
        guard let cache = session.cache, let current, let forwarding = current.forwarding else {
            return nil
        }
        let now = services.clock.now
        let answer = OriginAnswer(
            head, requestTime: current.requestTime, responseTime: now,
            resolve: { try? services.transport.resolve($0, against: url) })
        let update = cache.take(answer, to: forwarding, foundBefore: current.candidates)
        if update.invalidated.contains(forwarding.request.key) {
            current.fetch = cache.beginFetch()  // not this answer, but what was asked for before
        }
        let status = CacheStatus(forwarded: forwarding, answer: answer, update: update)
        current.answered = (head, now, update)
        switch update.delivery {
        case .origin:
            current.status = status
            return nil
        case .validated(let stored), .stale(let stored):
            return planStored(stored, status) ? .replay : .again
        case .again(let other):
            current.forwarding = other
            current.isDecided = true
            return .again
        }
    }

    private func planStored(_ answer: CachedAnswer, _ status: CacheStatus) -> Bool {
        guard let current, let held = current.held, let selected = current.forwarding?.selected
        else { return false }
        session.cache?.noteUse(of: CacheEntryID(rawValue: selected.id))
        current.answered = nil
        current.planned = TaskCaching.Planned(
            answer: answer, content: held, status: status, httpVersion: selected.httpVersion)
        return true
    }

    /// The head as the client is given it.
    func shown(_ head: ResponseHead) -> ResponseHead {
        guard let status = current?.status else { return head }
        var head = head
        head.headers = status.appended(to: head.headers)
        return head
    }

    /// Where what is stored may stand in for an attempt that has failed, it does (RFC 5861 §4).
    func standsIn(for error: TransferError) -> Bool {
        guard error.mayBeHidden, let forwarding = current?.forwarding,
            let answer = forwarding.answerInPlaceOfError(at: services.clock.now)
        else { return false }
        return planStored(
            answer, CacheStatus(forwarded: forwarding, answer: nil, update: nil))
    }

    /// The same request goes out once more, as another one: with a credential.
    func keepDecision() { current?.keepDecision() }

    /// The content does not come in one piece from this one answer.
    func notePatched() { current?.isPatched = true }

    // MARK: Storing

    /// The response that the cache may keep of the task, whose content is whole; nil where there is
    /// none.
    func storable(_ length: Int64, of record: TaskRecord) -> NewResponse? {
        guard let current, let answered = current.answered, !current.isServing,
            answered.update.delivery == .origin, answered.update.storability == .storable,
            !current.isPatched, mayShare(answered.head, of: record),
            session.record.state != .invalid
        else { return nil }
        return NewResponse(
            request: current.request, head: answered.head, requestTime: current.requestTime,
            responseTime: answered.time, length: length, fetch: current.fetch)
    }

    /// What a server answers for one who has proved who he is, and says so by `Vary`, would have to
    /// be found by that proof.
    private func mayShare(_ head: ResponseHead, of record: TaskRecord) -> Bool {
        record.dialogue.authentication.server.use == nil
            || !SelectingFields.nameAuthorization(in: head.headers)
    }

    /// Whether what was answered is a redirect.
    var isRedirected: Bool {
        current?.answered.map { Redirection.isRedirect($0.head.status) } ?? false
    }

    /// Stores a redirect that is followed: a response as any other, though the client never sees
    /// it.
    func storeRedirect(_ new: NewResponse, _ body: [UInt8]) {
        guard let cache = session.cache, cache.storeAtOnce(new, .bytes(body)) == nil else { return }
        LoopActor.start { await cache.store(new, .bytes(body)) }
    }

    /// A response waits for the delegate's word (S-71).
    func propose(_ new: NewResponse, _ content: NewContent) { proposal = .of(new, content) }

    /// The delegate has said what becomes of the response.
    func apply(_ disposition: CacheDisposition) {
        guard case .of(let new, let content) = proposal else {
            owner?.cacheIsDone(nil)
            return
        }
        proposal = nil
        switch disposition {
        case .refuse: owner?.cacheIsDone(nil)
        case .store(let policy, let userInfo):
            var new = new
            new.policy = policy ?? new.policy
            new.userInfo = userInfo ?? [:]
            store(new, content)
        }
    }

    /// Stores a response; the owner hears when that is done.
    func store(_ new: NewResponse, _ content: NewContent) {
        guard let cache = session.cache else {
            owner?.cacheIsDone(nil)
            return
        }
        if let isStored = cache.storeAtOnce(new, content) { return noteStored(isStored) }
        LoopActor.start { [self] in
            noteStored(await cache.store(new, content))
        }
    }

    /// `Cache-Status` says `stored` of what is, and of nothing else: not when the head comes, whose
    /// body may be cut.
    private func noteStored(_ isStored: Bool) {
        var status = isStored ? current?.status : nil
        status?.isStored = true
        owner?.cacheIsDone(status)
    }

    // MARK: Revalidation (RFC 5861 §3)

    private func revalidate(_ forwarding: Forwarding, in cache: ResponseCache) {
        guard let entry = forwarding.selected.map({ CacheEntryID(rawValue: $0.id) }),
            cache.revalidations[entry] == nil, let owner,
            let request = owner.revalidationRequest(forwarding)
        else { return }
        cache.revalidations[entry] = Revalidation(
            of: entry, forwarding, by: request, for: owner.record,
            among: current?.candidates ?? [], in: session, cache, services)
    }
}
