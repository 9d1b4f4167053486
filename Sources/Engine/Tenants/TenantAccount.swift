internal import Loop
internal import Semantics

/// What one tenant uses of the gateway, held against its quotas.
///
/// It answers at once whether one more is possible, in the turn of the loop in which that one is
/// made: so no number of requests at a time goes beyond a quota. Counting is a few operations on
/// integers; who counts often keeps the account.
@LoopActor
final class TenantAccount {
    let tenant: TenantID
    /// The limit that all transfers of the tenant share.
    let bandwidth: Bandwidth
    /// Its events that wait to be shown.
    let events: EventQueue
    private(set) var quotas: TenantQuotas
    /// By `TenantQuotas.Quota.place`. Those of rates have a limit, and nothing that is used.
    private var gauges: [QuotaGauge]
    private var requestBucket: TokenBucket?
    private var requests = SecondCounter()
    private var movedBytes = SecondCounter()
    private var keptParts = KeptParts()
    /// What wakes the transfers that wait for room for what they receive.
    private var waitingForRoom: [ObjectIdentifier: @LoopActor () -> Void] = [:]
    private let clock: any Clock

    /// The account of a tenant that uses nothing yet, of whose limit those of its sessions are.
    init(
        of tenant: TenantID, _ quotas: TenantQuotas, within gateway: Bandwidth, clock: any Clock,
        eventsAfter sequence: Int64 = 0
    ) {
        self.tenant = tenant
        events = EventQueue(of: tenant, after: sequence)
        self.quotas = quotas
        self.clock = clock
        bandwidth = Bandwidth(within: gateway)
        gauges = TenantQuotas.Quota.allCases.map { QuotaGauge(limit: quotas[$0]) }
        applyRates()
    }

    /// Other quotas from now on. Nothing ends because of a lower one: there is no more until enough
    /// has ended by itself.
    func set(_ new: TenantQuotas) {
        guard new != quotas else { return }
        quotas = new
        for quota in TenantQuotas.Quota.allCases { gauges[quota.place].limit = new[quota] }
        applyRates()
        wakeForRoom()
    }

    private func applyRates() {
        bandwidth.limit = quotas[.bytesPerSecond]
        guard let rate = quotas[.requestsPerSecond] else {
            requestBucket = nil
            return
        }
        if requestBucket == nil {
            requestBucket = TokenBucket(rate: rate, at: clock.uptime, holding: .requests)
        } else {
            requestBucket?.change(rate: rate, at: clock.uptime, holding: .requests)
        }
    }

    // MARK: Counting

    /// How much is used; of rates, how much was in the last whole second.
    func used(_ quota: TenantQuotas.Quota) -> Int64 {
        switch quota {
        case .requestsPerSecond: requests.rate(at: clock.uptime)
        case .bytesPerSecond: movedBytes.rate(at: clock.uptime)
        // Below zero where what was there at the start could not be counted.
        default: max(0, gauges[quota.place].used)
        }
    }

    func hasRoom(for count: Int64 = 1, of quota: TenantQuotas.Quota) -> Bool {
        gauges[quota.place].hasRoom(for: count)
    }

    /// - Throws: `overQuota` where so much more would be too much; nothing is counted then, nor
    ///   otherwise.
    func requireRoom(
        for count: Int64 = 1, of quota: TenantQuotas.Quota
    ) throws(GatewayError) {
        let gauge = gauges[quota.place]
        guard gauge.hasRoom(for: count) else {
            throw .overQuota(quota, limit: gauge.limit ?? .max)
        }
    }

    /// Counts what is there, or comes now, whatever the quota.
    func take(_ count: Int64 = 1, of quota: TenantQuotas.Quota) { gauges[quota.place].take(count) }

    /// Something is no more.
    func giveBack(_ count: Int64 = 1, of quota: TenantQuotas.Quota) {
        gauges[quota.place].giveBack(count)
        if quota == .storedBytes, count > 0 { wakeForRoom() }
    }

    // MARK: Parts of downloads (S-34)

    /// What has come of a download that has ended is kept for another one: so many bytes count as
    /// stored until `dropPart`.
    func keepPart(of task: TaskID, _ length: Int64) {
        dropPart(of: task)
        keptParts.add(task, length)
        take(length, of: .storedBytes)
    }

    /// It is another task's now, or gone.
    func dropPart(of task: TaskID) {
        if let length = keptParts.remove(task) { giveBack(length, of: .storedBytes) }
    }

    /// Whether it is kept, and counts.
    func keepsPart(of task: TaskID) -> Bool { keptParts.contains(task) }

    /// Counts those that earlier processes have kept, by their lengths.
    func recallParts(_ lengths: [TaskID: Int64]) {
        take(keptParts.recall(lengths), of: .storedBytes)
    }

    // MARK: Rates

    /// Counts a request.
    ///
    /// - Returns: false where it comes too soon after others; within a second it may come again.
    func admitRequest() -> Bool {
        let now = clock.uptime
        requestBucket?.fill(until: now, holding: .requests)
        if let bucket = requestBucket {
            // A bucket lets in one a second at the least, whatever it was told.
            guard bucket.bytes > 0, hasRoom(of: .requestsPerSecond) else { return false }
            requestBucket?.take(1)
        }
        requests.add(1, at: now)
        return true
    }

    /// Bytes of a body have come from an origin, or gone to one.
    func noteMoved(_ count: Int) { movedBytes.add(Int64(count), at: clock.uptime) }

    // MARK: Waiting for room

    /// Calls once, when what is stored has become less, or may be more: there need not be room for
    /// all who wait. One that waits already waits once.
    func waitForRoom(_ waiter: AnyObject, _ goOn: @escaping @LoopActor () -> Void) {
        waitingForRoom[ObjectIdentifier(waiter)] = goOn
    }

    private func wakeForRoom() {
        guard !waitingForRoom.isEmpty, hasRoom(of: .storedBytes) else { return }
        let waiting = waitingForRoom.values
        waitingForRoom = [:]
        // Not in the middle of what gives room back.
        LoopActor.later { for goOn in waiting { goOn() } }
    }
}

extension TenantQuotas.Quota {
    /// The place among all.
    fileprivate var place: Int {
        switch self {
        case .sessions: 0
        case .outstandingTasks: 1
        case .runningAttempts: 2
        case .storedBytes: 3
        case .stagedBytes: 4
        case .eventStreams: 5
        case .webhooks: 6
        case .requestsPerSecond: 7
        case .bytesPerSecond: 8
        }
    }
}
