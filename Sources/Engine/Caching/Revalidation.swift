internal import Diagnostics
internal import Loop
internal import Semantics

/// A stored response is validated while its stale content is in use already (RFC 5861 §3): the
/// gateway's own request, for the next time. Nobody hears of it; what goes wrong leaves the cache
/// as it was.
@LoopActor
final class Revalidation: CacheFetch {
    /// A new content longer than this is not taken: the next task that wants it fetches it. So
    /// little is not held up by any limit either.
    private static let contentLimit = ContentSpool.storeLimit

    private let entry: CacheEntryID
    private let forwarding: Forwarding
    private let request: AttemptRequest
    private let task: TaskRecord
    private let found: [CacheCandidate]
    private let session: LiveSession
    private let cache: ResponseCache
    private let services: TaskServices
    private let fetch: Int64
    private var attempt: (any Attempt)?
    private var slot: Slot?
    private var requestTime = Timestamp(milliseconds: 0)
    private var answer: Answer?
    private var isOver = false
    /// For all of it: nobody waits, so that nobody would notice one that never ends.
    private lazy var timer = LoopTimer { [weak self] in self?.cancel() }

    /// What the origin has answered.
    private struct Answer {
        let head: ResponseHead
        /// When it came.
        let time: Timestamp
        /// Whether it takes the place of the stored response.
        var isStorable: Bool
        /// As much of it as has come, where it does.
        var content: [UInt8] = []
    }

    /// Waits for a slot of its host like any other attempt.
    init(
        of entry: CacheEntryID, _ forwarding: Forwarding, by request: AttemptRequest,
        for task: TaskRecord, among found: [CacheCandidate], in session: LiveSession,
        _ cache: ResponseCache, _ services: TaskServices
    ) {
        self.task = task
        self.found = found
        self.entry = entry
        self.forwarding = forwarding
        self.request = request
        self.session = session
        self.cache = cache
        self.services = services
        fetch = cache.beginFetch()
        session.queue.enter(self)
    }

    func cancel() {
        guard !isOver else { return }
        if let attempt {
            _ = attempt.cancel()
            leaveHost()
        } else {
            session.queue.leave(self)
        }
        finish()
    }

    private func leaveHost() {
        timer.cancel()
        attempt = nil
        if let slot { session.queue.free(slot) }
        slot = nil
    }

    private func finish() {
        isOver = true
        timer.cancel()
        if cache.revalidations[entry] === self { cache.revalidations[entry] = nil }
    }
}

extension Revalidation: SlotHolder {
    var destination: WebURL.Origin { request.url.origin }
    /// Behind every task that somebody waits for.
    var priority: Double { 0 }
    var age: TaskID { TaskID(rawValue: .max) }

    var isDiscretionary: Bool { task.isDiscretionary }
    /// Nobody waits for it.
    var breaksQuiet: Bool { false }

    func slotGranted(_ slot: Slot) {
        self.slot = slot
        requestTime = services.clock.now
        timer.arm(
            after: .seconds(session.record.configuration.timeoutIntervalForRequest))
        attempt = session.pool.start(request, observer: self)
    }
}

extension Revalidation: AttemptObserver {
    func attemptDidMove() {}

    func attemptDidReceiveInformational(_: ResponseHead) {}

    func attemptGoesOn(after request: TransactionMetrics) {}

    func attemptDidSend(total: Int64) {}

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        let now = services.clock.now
        let url = request.url
        session.receiveCookies(of: head, to: task)
        let origin = OriginAnswer(
            head, requestTime: requestTime, responseTime: now,
            resolve: { try? services.transport.resolve($0, against: url) })
        let update = cache.take(origin, to: forwarding, foundBefore: found)
        var isStorable = update.delivery == .origin && update.storability == .storable
        if isStorable, session.record.decides(.cache, about: task.options) {
            // S-84: what the delegate does not see it cannot be asked about. The next task that
            // wants it fetches it, and asks.
            cache.forget(entry)
            isStorable = false
        }
        answer = Answer(head: head, time: now, isStorable: isStorable)
        // A 304 has no content, and leaves a connection that can be used again.
        return isStorable || head.status == 304 ? .proceed : .stop
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        guard answer?.isStorable == true, let count = answer?.content.count else { return .stop }
        guard count + bytes.count <= Revalidation.contentLimit else {
            answer?.isStorable = false
            cache.forget(entry)  // it would be tried in vain each time
            return .stop
        }
        answer?.content.append(contentsOf: bytes)
        return .proceed
    }

    func attemptDidEnd(_ end: AttemptEnd) {
        leaveHost()
        guard let answer, answer.isStorable, end.error == nil, end.lengthVerified else {
            finish()
            return
        }
        var new = NewResponse(
            request: forwarding.request, head: answer.head, requestTime: requestTime,
            responseTime: answer.time, length: Int64(answer.content.count), fetch: fetch)
        if let former = found.first(where: { $0.entry.id == entry })?.entry {
            // What the delegate has said of it holds for what takes its place (S-71).
            if former.place == .memory { new.policy = .allowedInMemoryOnly }
            new.userInfo = former.userInfo
        }
        let bytes = answer.content
        LoopActor.start { [self] in
            if !isOver { await cache.store(new, .bytes(bytes)) }
            finish()
        }
    }
}
