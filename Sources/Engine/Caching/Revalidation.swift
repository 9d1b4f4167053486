internal import Diagnostics
internal import Loop
internal import Semantics

/// A stored response is validated while its stale content is in use already (RFC 5861 §3): the gateway's own request, for
/// the next time. Nobody hears of it; what goes wrong leaves the cache as it was.
@LoopActor
final class Revalidation {
    /// A new content longer than this is not stored: the next task that wants it fetches it.
    private static let contentLimit = 1 << 20

    private let entry: CacheEntryID
    private let forwarding: Forwarding
    private let request: AttemptRequest
    private let task: TaskRecord
    private let found: [CacheCandidate]
    private unowned let session: LiveSession
    private unowned let cache: ResponseCache
    private let services: TaskServices
    private let fetch: Int64
    private var attempt: (any Attempt)?
    private var requestTime = Timestamp(milliseconds: 0)
    private var answered: (head: ResponseHead, time: Timestamp)?
    private var content: [UInt8] = []
    private var isStorable = false
    private lazy var timer = LoopTimer { [unowned self] in cancel() }

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

    /// Ends it without a result.
    func cancel() {
        if let attempt {
            _ = attempt.cancel()
            leave()
        } else {
            session.queue.leave(self)
            finish()
        }
    }

    private func leave() {
        attempt = nil
        session.queue.free(destination)
        finish()
    }

    private func finish() {
        timer.cancel()
        cache.revalidations[entry] = nil
    }
}

extension Revalidation: SlotHolder {
    var destination: WebURL.Origin { request.url.origin }
    /// Behind every task that somebody waits for.
    var priority: Double { 0 }

    func slotGranted() {
        requestTime = services.clock.now
        timer.arm(
            after: .seconds(session.record.configuration.timeoutIntervalForRequest))
        attempt = session.pool.start(request, observer: self)
    }
}

extension Revalidation: AttemptObserver {
    func attemptDidMove() {
        timer.arm(
            after: .seconds(session.record.configuration.timeoutIntervalForRequest))
    }

    func attemptDidReceiveInformational(_: ResponseHead) { attemptDidMove() }

    func attemptDidSend(total: Int64) {}

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        attemptDidMove()
        let now = services.clock.now
        let url = request.url
        session.receiveCookies(of: head, to: task)
        let answer = OriginAnswer(
            head, at: url, requestTime: requestTime, responseTime: now,
            resolve: { try? services.transport.resolve($0, against: url) })
        let candidates = cache.candidates(for: forwarding.request.key, foundBefore: found)
        let update = CacheUpdate(
            answer, to: forwarding, candidates: candidates.map(\.entry.response))
        cache.apply(update, among: candidates)
        answered = (head, now)
        isStorable = update.delivery == .origin && update.storability == .storable
        return isStorable ? .proceed : .stop
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        attemptDidMove()
        guard content.count + bytes.count <= Revalidation.contentLimit else {
            isStorable = false
            cache.forget(entry)  // it would be tried in vain each time
            return .stop
        }
        content.append(contentsOf: bytes)
        return .proceed
    }

    func attemptDidEnd(_ end: AttemptEnd) {
        guard isStorable, end.error == nil, end.lengthVerified, let answered else {
            leave()
            return
        }
        let new = NewResponse(
            request: forwarding.request, head: answered.head, requestTime: requestTime,
            responseTime: answered.time, length: Int64(content.count), fetch: fetch)
        let bytes = content
        LoopActor.start { [self] in
            await cache.store(new, .bytes(bytes))
            leave()
        }
    }
}
