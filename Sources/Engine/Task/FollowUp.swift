internal import Loop
internal import Semantics

/// What follows an attempt that is over: another one, at once or later, or the task's end.
@LoopActor
final class FollowUp {
    private let task: LiveTask
    private let reception: Reception
    private let caching: CacheFlow
    private let upload: Upload
    private let timers: TaskTimers
    /// Whether the wait for the next try is one for the host to come back.
    private var waitsForHost = false
    private(set) lazy var route = RouteWait(in: task.services.routes)

    init(
        of task: LiveTask, _ reception: Reception, _ caching: CacheFlow, _ upload: Upload,
        _ timers: TaskTimers
    ) {
        self.task = task
        self.reception = reception
        self.caching = caching
        self.upload = upload
        self.timers = timers
    }

    private var control: (any TaskControl)? { task.control }
    private var delegate: (any DelegateAsking)? { task.delegate }

    /// Does what an answer has led to.
    ///
    /// - Parameters:
    ///   - step: what it has led to.
    ///   - end: of the attempt.
    ///   - body: of the answer, as far as it was kept.
    ///   - isWhole: whether none of it was thrown away.
    func carryOut(
        _ step: Exchange.NextStep, after end: AttemptEnd, _ body: [UInt8], isWhole: Bool
    ) {
        switch step {
        case .follow(let request):
            if isWhole { storeRedirect(body, end) }
            task.follow(request)
            tryAgain()
        case .ask(let question, let response):
            task.hold(response, body, end)
            if isWhole { storeRedirect(body, end) }
            if let delegate, !delegate.isAsked { delegate.ask(question, after: response) }
            tryAgain()
        case .authenticate:
            caching.keepDecision()
            tryAgain()
        case .replay: tryAgain()
        case .again(let request):
            reception.download.plan(request)
            if request == nil { reception.drop() }
            tryAgain()
        case .turn(let request): turn(to: request)
        case .retry(let delay, let reason): retry(after: delay, reason: reason)
        case .sendBody:
            if let error = end.error { return attemptFailed(error) }
            upload.knowsServer()
            tryAgain()
        case .finish: control?.send(.answered)
        case .fail(let error):
            // An answer that cannot be used is a source that has failed, too.
            guard let request = task.nextSource(after: error) else {
                control?.fail(error)
                return
            }
            delegate?.responseIsLost()
            turn(to: request)
        }
    }

    /// The attempt is over, and has failed.
    func attemptFailed(_ error: TransferError) {
        delegate?.responseIsLost()
        if task.record.response == nil, caching.standsIn(for: error) { return tryAgain() }
        if waitsForRoute(after: error) { return }
        switch task.nextStep(after: error, timeLeft: timers.timeLeft) {
        case .turn(let request): turn(to: request)
        case .retry(let delay, let reason):
            retry(after: delay, reason: reason, ofNetwork: task.session.record.isBackground)
        default: control?.fail(error)
        }
    }

    /// Another attempt follows at once.
    func tryAgain() {
        upload.note()
        control?.send(.again)
        control?.rest()
    }

    /// Another source begins at zero: nothing tells that it has the same bytes.
    private func turn(to request: RequestRecord) {
        reception.drop()
        task.record.currentRequest = request
        task.record.dialogue.authentication.move(to: request.url)
        tryAgain()
    }

    private func retry(after delay: Duration, reason: String, ofNetwork: Bool = false) {
        waitsForHost = ofNetwork
        // A mirror's part is none of the source that the try begins with.
        if task.record.mirrorCount > 0 { reception.drop() }
        task.beginRetry(after: delay, reason: reason)
        timers.retryDelay = delay
        upload.note()
        control?.send(.retry)
        control?.rest()
    }

    /// Waits for the next try. Where it is the network that has failed a background session's task,
    /// a sign of life of the host, or of the network, cuts the wait short (S-52).
    func waitForRetry() {
        timers.wait(.retry, for: timers.retryDelay)
        guard waitsForHost else { return }
        route.wait(for: task.record.currentRequest.url.origin) { [timers] in
            timers.waitOn(for: .zero)
        }
    }

    /// The wait is over, or the task is suspended.
    func stopWaitingForRetry() {
        timers.stopWaiting()
        route.stopWaiting()
    }

    // MARK: No way to the server (S-26)

    /// Whether the task waits, in place of what would follow an attempt that found no way.
    private func waitsForRoute(after error: TransferError) -> Bool {
        guard task.session.record.configuration.waitsForConnectivity,
            error.isLackOfRoute, task.canBeginAgain
        else { return false }
        if !task.record.dialogue.hasToldOfWaiting {
            task.record.dialogue.hasToldOfWaiting = true
            task.publish(.isWaitingForConnectivity)
        }
        upload.note()
        control?.send(.cutOff)
        control?.rest()
        return true
    }

    // MARK: The cache

    /// A redirect is a response as any other, though the client never sees it.
    private func storeRedirect(_ body: [UInt8], _ end: AttemptEnd) {
        guard caching.isRedirected, end.error == nil, end.lengthVerified,
            // S-84: a delegate that decides about the cache is not asked about what it does not
            // see.
            !task.handles(.cache), let new = reception.storable(Int64(body.count))
        else { return }
        caching.storeRedirect(new, body)
    }
}
