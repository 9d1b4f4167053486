internal import Loop
internal import Semantics

/// Those who wait for a way to a server (S-26), or to try one again (S-52): all are told when this
/// machine's network has changed. Who waits for a way is told after a while in any case, since it
/// may come back behind this machine; who waits for a host, when that has answered somebody.
@LoopActor
final class RouteWaiters {
    private var watches: [ObjectIdentifier: RouteWatch] = [:]
    private var hosts: [WebURL.Origin: [ObjectIdentifier: RouteWatch]] = [:]
    /// Held: it tells as long as it lives.
    private let connectivity: (any Connectivity)?
    private let waits: ClosedRange<Duration>

    /// Each wait in vain doubles the next one, from the shortest to the longest of `waits`.
    init(_ connectivity: (any Connectivity)?, waits: ClosedRange<Duration>) {
        self.connectivity = connectivity
        self.waits = waits
        connectivity?.onChange = { [weak self] in self?.tellAll() }
    }

    /// Calls once, when it is worth to try again.
    ///
    /// - Parameters:
    ///   - tries: how often it was in vain.
    ///   - action: called unless the watch is cancelled before.
    /// - Returns: the watch, to be cancelled.
    func watch(tries: Int, _ action: @escaping @LoopActor () -> Void) -> RouteWatch {
        let wait = min(waits.upperBound, waits.lowerBound * (1 << min(max(0, tries - 1), 16)))
        let watch = RouteWatch(for: nil, in: self, action)
        watches[ObjectIdentifier(watch)] = watch
        watch.timer.arm(after: wait)
        return watch
    }

    /// Calls once, when the network has changed or an answer of the host is whole.
    ///
    /// - Parameters:
    ///   - host: the one that is waited for.
    ///   - action: called unless the watch is cancelled before.
    /// - Returns: the watch, to be cancelled.
    func watch(_ host: WebURL.Origin, _ action: @escaping @LoopActor () -> Void) -> RouteWatch {
        let watch = RouteWatch(for: host, in: self, action)
        hosts[host, default: [:]][ObjectIdentifier(watch)] = watch
        return watch
    }

    /// An answer of a host is whole.
    fileprivate func answered(by host: WebURL.Origin) {
        guard !hosts.isEmpty, let watches = hosts[host] else { return }
        for watch in watches.values { watch.tell() }
    }

    fileprivate func forget(_ watch: RouteWatch) {
        guard let host = watch.host else {
            watches[ObjectIdentifier(watch)] = nil
            return
        }
        hosts[host]?[ObjectIdentifier(watch)] = nil
        if hosts[host]?.isEmpty == true { hosts[host] = nil }
    }

    private func tellAll() {
        for watch in watches.values { watch.tell() }
        for watches in hosts.values { for watch in watches.values { watch.tell() } }
    }
}

/// One who waits for a way.
@LoopActor
final class RouteWatch {
    /// Nil for one who waits for any way.
    let host: WebURL.Origin?
    private weak let waiters: RouteWaiters?
    private var action: (@LoopActor () -> Void)?
    fileprivate lazy var timer = LoopTimer { [weak self] in self?.tell() }

    fileprivate init(
        for host: WebURL.Origin?, in waiters: RouteWaiters,
        _ action: @escaping @LoopActor () -> Void
    ) {
        self.host = host
        self.waiters = waiters
        self.action = action
    }

    /// Nothing is called any more.
    func cancel() {
        timer.cancel()
        action = nil
        waiters?.forget(self)
    }

    fileprivate func tell() {
        let action = action
        cancel()
        action?()
    }
}

/// A task's wait for a way to its server.
@LoopActor
final class RouteWait {
    /// Attempts in a row that have found no way.
    private(set) var tries = 0
    private let waiters: RouteWaiters
    private var watch: RouteWatch?

    init(in waiters: RouteWaiters) { self.waiters = waiters }

    /// Calls once, when it is worth to try again.
    func wait(_ action: @escaping @LoopActor () -> Void) {
        tries += 1
        watch = waiters.watch(tries: tries) { [weak self] in
            self?.watch = nil
            action()
        }
    }

    /// Calls once, when it is worth to try a host again earlier than was meant.
    func wait(for host: WebURL.Origin, _ action: @escaping @LoopActor () -> Void) {
        watch = waiters.watch(host) { [weak self] in
            self?.watch = nil
            action()
        }
    }

    func stopWaiting() {
        watch?.cancel()
        watch = nil
    }

    /// A server has answered.
    func found() { tries = 0 }

    /// An answer of a host is whole.
    func answered(by host: WebURL.Origin) { waiters.answered(by: host) }
}
