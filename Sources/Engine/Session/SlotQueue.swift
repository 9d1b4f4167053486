internal import DequeModule
internal import HeapModule
internal import Loop
internal import Semantics

/// What waits in a queue for a slot.
@LoopActor
protocol SlotHolder: AnyObject {
    /// Where the next attempt goes; what counts is the host.
    var destination: WebURL.Origin { get }
    /// S-43.
    var priority: Double { get }
    /// The task that it is for: among equals the one that was created first goes first (S-43).
    var age: TaskID { get }
    /// Whether it waits until the gateway is quiet (S-27).
    var isDiscretionary: Bool { get }
    /// Whether the gateway is not quiet while it waits.
    var breaksQuiet: Bool { get }
    /// The slot is to be given back.
    func slotGranted(_ slot: Slot)
}

/// One of the attempts that a host gets at a time.
struct Slot {
    fileprivate let queue: SlotQueue.HostQueue
    /// Whether it was given in the quiet (S-27).
    fileprivate let isDiscretionary: Bool
}

/// What `httpMaximumConnectionsPerHost` counts by.
private struct CountedHost: Hashable {
    let host: String
    let zone: String?

    init(_ origin: WebURL.Origin) {
        host = origin.host
        zone = origin.zone
    }
}

/// Hosts that could start an attempt if the gateway let them, in turn.
private struct StalledHosts {
    private var hosts = Deque<CountedHost>()
    private var members: Set<CountedHost> = []
    /// Whether the session waits in the gateway's own queue.
    var isAnnounced = false

    var count: Int { hosts.count }

    mutating func insert(_ host: CountedHost) {
        if members.insert(host).inserted { hosts.append(host) }
    }

    mutating func popFirst() -> CountedHost? {
        let host = hosts.popFirst()
        if let host { members.remove(host) }
        return host
    }
}

/// A session's queue: at most so many attempts to one host at a time, whatever its ports and
/// schemes, the most urgent first, and among equals the oldest (S-19, S-43); last of all, and when
/// the gateway is quiet, what may be put off (S-27). libcurl's own queue knows no order, so nothing
/// is ever left to it.
@LoopActor
final class SlotQueue {
    fileprivate struct Entry: Comparable {
        let isDiscretionary: Bool
        let priority: Double
        let age: TaskID
        let holder: any SlotHolder
        /// Of no other entry: one that is not its holder's newest is stale.
        let stamp: UInt64

        @LoopActor
        init(_ holder: any SlotHolder, stamp: UInt64) {
            isDiscretionary = holder.isDiscretionary
            priority = holder.priority
            age = holder.age
            self.holder = holder
            self.stamp = stamp
        }

        static func < (left: Entry, right: Entry) -> Bool {
            if left.isDiscretionary != right.isDiscretionary { return left.isDiscretionary }
            if left.priority != right.priority { return left.priority < right.priority }
            return left.age != right.age ? left.age > right.age : left.stamp > right.stamp
        }
        static func == (left: Entry, right: Entry) -> Bool { left.stamp == right.stamp }
    }

    /// What is known of one that waits.
    private struct Standing {
        /// Of its newest entry.
        let stamp: UInt64
        let breaksQuiet: Bool
    }

    /// One host's attempts, and what waits for one.
    fileprivate final class HostQueue {
        let host: CountedHost
        var taken = 0
        var waiting = Heap<Entry>()
        /// How many of `waiting` are stale: their tasks have left, or have moved.
        var staleCount = 0

        init(_ host: CountedHost) { self.host = host }
    }

    private let limitPerHost: Int
    private let budget: AttemptBudget
    /// Whose attempts they are.
    fileprivate let account: TenantAccount
    private var queues: [CountedHost: HostQueue] = [:]
    /// Everything that waits.
    private var standings: [ObjectIdentifier: Standing] = [:]
    private var lastStamp: UInt64 = 0
    /// Attempts of all hosts.
    fileprivate private(set) var takenCount = 0
    /// Hosts that wait until the gateway has an attempt left.
    private var starved = StalledHosts()
    /// Hosts that wait until the gateway is quiet.
    private var putOff = StalledHosts()

    init(limitPerHost: Int, budget: AttemptBudget, account: TenantAccount) {
        self.limitPerHost = limitPerHost
        self.budget = budget
        self.account = account
    }

    /// Puts a task into its host's queue.
    func enter(_ holder: any SlotHolder) {
        let host = CountedHost(holder.destination)
        let queue = queues[host] ?? HostQueue(host)
        queues[host] = queue
        insert(holder, into: queue)
        pump(queue)
    }

    func leave(_ holder: any SlotHolder) {
        guard note(nil, of: holder), let queue = queues[CountedHost(holder.destination)] else {
            return
        }
        noteStale(in: queue)
    }

    /// Moves a waiting task to where its new priority belongs, behind its equals that are older;
    /// one that is not put off any more may be granted its slot at once.
    func reorder(_ holder: any SlotHolder) {
        guard standings[ObjectIdentifier(holder)] != nil,
            let queue = queues[CountedHost(holder.destination)]
        else { return }
        insert(holder, into: queue)
        noteStale(in: queue)
        pump(queue)
    }

    /// Gives a slot back.
    func free(_ slot: Slot) {
        slot.queue.taken -= 1
        takenCount -= 1
        budget.giveBack(of: self)
        if slot.isDiscretionary { budget.quiet.giveBack() }
        pump(slot.queue)
    }

    /// Whether what may be put off has to wait.
    var putsOff: Bool { !budget.quiet.isNow }

    private func insert(_ holder: any SlotHolder, into queue: HostQueue) {
        lastStamp += 1
        note(Standing(stamp: lastStamp, breaksQuiet: holder.breaksQuiet), of: holder)
        queue.waiting.insert(Entry(holder, stamp: lastStamp))
    }

    /// Takes down that one waits; nil for one that waits no more.
    /// - Returns: whether it has waited before.
    @discardableResult
    private func note(_ standing: Standing?, of holder: any SlotHolder) -> Bool {
        let id = ObjectIdentifier(holder)
        let old = standings[id]
        standings[id] = standing
        let (had, has) = (old?.breaksQuiet == true, standing?.breaksQuiet == true)
        if had != has { budget.quiet.noteOthersWaiting(has ? 1 : -1) }
        budget.waitingCount += (standing == nil ? 0 : 1) - (old == nil ? 0 : 1)
        return old != nil
    }

    private func isStale(_ entry: Entry) -> Bool {
        standings[ObjectIdentifier(entry.holder)]?.stamp != entry.stamp
    }

    /// Drops stale entries once they are the most of a queue, so that one that does not move cannot
    /// grow for ever; and where nobody waits any more, so that it holds nobody.
    private func noteStale(in queue: HostQueue) {
        queue.staleCount += 1
        let (stale, all) = (queue.staleCount, queue.waiting.count)
        guard stale == all || (stale > 64 && stale > all / 2) else { return }
        queue.waiting = Heap(queue.waiting.unordered.filter { !isStale($0) })
        queue.staleCount = 0
        tidy(queue)
    }

    private func pump(_ queue: HostQueue) {
        while grant(queue) {}
    }

    /// Starts the next attempt to a host, if there is one that may start.
    private func grant(_ queue: HostQueue) -> Bool {
        defer { tidy(queue) }
        guard queue.taken < limitPerHost, let next = popWaiting(queue) else { return false }
        if next.isDiscretionary, putsOff {
            queue.waiting.insert(next)
            putOff.insert(queue.host)
            announce()
            return false
        }
        guard budget.take(for: self) else {
            queue.waiting.insert(next)
            starved.insert(queue.host)
            announce()
            return false
        }
        if next.isDiscretionary { budget.quiet.take() }
        note(nil, of: next.holder)
        queue.taken += 1
        takenCount += 1
        next.holder.slotGranted(Slot(queue: queue, isDiscretionary: next.isDiscretionary))
        return true
    }

    private func tidy(_ queue: HostQueue) {
        if queue.taken == 0, queue.waiting.isEmpty { queues[queue.host] = nil }
    }

    /// Sees to it that the session has its turns while hosts wait for them.
    private func announce() {
        if starved.count > 0, !starved.isAnnounced {
            starved.isAnnounced = true
            budget.wait(self)
        }
        if putOff.count > 0, !putOff.isAnnounced {
            putOff.isAnnounced = true
            budget.quiet.wait(self)
        }
    }

    /// The budget has something for this session: one attempt starts, if any host still wants it.
    fileprivate func takeTurn() {
        starved.isAnnounced = false
        startOne(of: \.starved)
    }

    /// The gateway is quiet: one attempt starts, if any host still wants it.
    func takeQuietTurn() {
        putOff.isAnnounced = false
        startOne(of: \.putOff)
    }

    private func startOne(of stalled: ReferenceWritableKeyPath<SlotQueue, StalledHosts>) {
        for _ in 0..<self[keyPath: stalled].count {
            guard let host = self[keyPath: stalled].popFirst() else { break }
            guard let queue = queues[host], grant(queue) else { continue }
            if !queue.waiting.isEmpty, queue.taken < limitPerHost {
                self[keyPath: stalled].insert(host)
            }
            break
        }
        announce()
    }

    private func popWaiting(_ queue: HostQueue) -> Entry? {
        while let entry = queue.waiting.popMax() {
            if !isStale(entry) { return entry }
            queue.staleCount -= 1
        }
        return nil
    }
}

/// How many attempts the whole gateway runs at a time: each needs a descriptor for its socket, and
/// may need one for its file. A session's first takes more, for what its connections need of their
/// own.
///
/// Sessions that wait have their turns, and so have the tenants whose they are. One that has many
/// leaves some to others, who would wait as long as its slowest last: it takes no more than eight
/// times what is left beside another session's first. The same holds for a tenant where there are
/// several.
@LoopActor
final class AttemptBudget {
    private static let shareOfRest = 8

    /// When attempts may begin that may be put off.
    let quiet: QuietTime
    private var left: Int
    private let firstCost: Int
    private var waiting = FairQueue<SlotQueue>(share: 1)
    let accounts: TenantAccounts
    private var isWaking = false
    /// Attempts that go on.
    private(set) var runningCount = 0
    /// Tasks that wait for an attempt, of all sessions.
    fileprivate(set) var waitingCount = 0
    /// While closed nothing is given, whatever is left.
    var isClosed = false {
        didSet { wakeWaiters() }
    }
    /// The same, while this node's attempts stand still.
    var standsStill = false {
        didSet { wakeWaiters() }
    }

    /// - Parameters:
    ///   - limit: of attempts, if no session's first took more than the others.
    ///   - firstCost: how many attempts a session's first stands for.
    ///   - quiet: when attempts may begin that may be put off.
    ///   - accounts: of the tenants that share it.
    init(limit: Int, firstCost: Int = 1, quiet: QuietTime, accounts: TenantAccounts) {
        self.accounts = accounts
        left = limit
        self.quiet = quiet
        self.firstCost = firstCost
    }

    private var isOpen: Bool { !isClosed && !standsStill }

    func take(for queue: SlotQueue) -> Bool {
        guard mayTake(queue) else { return false }
        left -= cost(for: queue)
        runningCount += 1
        queue.account.take(of: .runningAttempts)
        return true
    }

    /// What the next attempt of a session takes, or the last one that has ended gives back.
    private func cost(for queue: SlotQueue) -> Int { queue.takenCount == 0 ? firstCost : 1 }

    private func mayTake(_ queue: SlotQueue) -> Bool {
        guard left >= cost(for: queue), isOpen, mayTake(queue.account) else { return false }
        return queue.takenCount == 0 || isModest(queue.takenCount)
    }

    private func mayTake(_ account: TenantAccount) -> Bool {
        guard account.hasRoom(of: .runningAttempts) else { return false }
        let taken = Int(account.used(.runningAttempts))
        return taken == 0 || !accounts.areSeveral || isModest(taken)
    }

    /// Whether one that has so many leaves enough to others when it gets one more.
    private func isModest(_ taken: Int) -> Bool {
        taken < AttemptBudget.shareOfRest * (left - firstCost)
    }

    func giveBack(of queue: SlotQueue) {
        left += cost(for: queue)
        runningCount -= 1
        queue.account.giveBack(of: .runningAttempts)
        wakeWaiters()
    }

    /// Goes on until nothing is left, or nobody may have it: a queue may have emptied, or be full,
    /// since it began to wait.
    private func wakeWaiters() {
        guard !isWaking else { return }
        isWaking = true
        defer { isWaking = false }
        while left > 0, isOpen, let queue = nextWaiting() { queue.takeTurn() }
    }

    private func nextWaiting() -> SlotQueue? {
        waiting.popFirst(
            cost: cost(for:), of: { mayTake(accounts[$0]) }, where: { mayTake($0) })
    }

    /// A session waits for its turn; once at a time.
    func wait(_ queue: SlotQueue) {
        waiting.append(queue, of: queue.account.tenant)
    }

    /// A tenant may have more at a time than before.
    func quotasHaveChanged() { wakeWaiters() }
}
