internal import Diagnostics
public import Loop
internal import Metrics
public import Semantics

/// Who answers for a tenant.
public enum TenantPlace: Equatable, Sendable {
    /// This node.
    case here
    /// Another one, which is to be asked.
    case at(NodeRecord)
}

/// The nodes that share the database: which tenant is at which of them, and what is done where that
/// changes.
///
/// A tenant is at one node at a time, and everything that it is promised is that node's memory: its
/// sessions with what they remember, the order of its events, its quotas.
@LoopActor
public final class NodeService {
    /// How long a request waits for its tenant to arrive at a node.
    private static let patience = Duration.seconds(10)
    /// How long an answer waits for what it has changed at another node to be known here.
    private static let catchUp = Duration.seconds(5)
    /// How often it is looked at how the nodes stand, where nothing hints at a change.
    private static let interval = Duration.seconds(2)
    /// How long a tenant that leaves waits for what cannot go on elsewhere.
    private static let lastTasks = Duration.seconds(30)

    /// The looks at how the nodes stand, which are numbered from 1.
    private struct Looks {
        /// The last one that has begun.
        var begun = 0
        /// The last one that has told something.
        var seen = 0
        /// The last one that was followed to its end.
        var followed = 0
    }

    /// What the nodes knew of each other lately.
    public private(set) var view = NodeView()
    /// Called when nodes are gone, or tenants elsewhere than before.
    public var onChange: (@LoopActor () -> Void)?

    private let store: any NodeStore
    private let loader: TenantLoader
    private let access: AccessMirror
    private let lease: NodeLease
    private let clock: any Clock
    /// The tenants that are on their way here, or away from here.
    private var moving: Set<TenantID> = []
    private var waiters: [CompletionWaiter] = []
    /// Grows with what this node itself has changed: what was looked up before does not hold any
    /// more.
    private var changeCount = 0
    private var looks = Looks()
    /// The one that is being handed over.
    private var leaving: TenantID?
    private var isDraining = false
    private var isStopped = false
    private let log = Log("engine.nodes")

    init(
        _ store: any NodeStore, loader: TenantLoader, settings: SettingService, clock: any Clock
    ) {
        self.store = store
        self.loader = loader
        self.clock = clock
        access = AccessMirror(store, tenants: loader.tenants, settings: settings, clock: clock)
        lease = NodeLease(of: store, clock: clock) { standsStill in
            if !standsStill { store.endWait() }
            loader.setStandstill(standsStill)
        }
    }

    /// The tenants that are served here.
    private var served: ServedTenants { loader.tenants.served }

    // MARK: Asking

    /// This node; another one once it has joined again.
    public var own: NodeID { store.node }

    /// The nodes, by their numbers.
    public var nodes: [NodeRecord] { view.nodes.values.sorted { $0.id < $1.id } }

    /// How many tenants are served here.
    public var servedCount: Int { served.tenants?.count ?? 0 }

    /// Whether transfers stand still, since the store has not answered for so long that other nodes
    /// may be about to take over what this one has.
    public var isPaused: Bool { lease.isOver }

    /// Whether this node cannot tell who may call, nor which tenants it has: others may have taken
    /// these, or it has not found out for long what they have changed.
    public var isCutOff: Bool { store.leaseLeft <= .zero || access.isOutdated }

    /// Whether the other nodes have taken this one for lost, and it has not joined them again.
    public var isLost: Bool { lease.isLost }

    /// How often they have.
    public var lossCount: Int { lease.lossCount }

    /// For how long they do not, and transfers go on, where the store does not answer from now on.
    public var leaseLeft: Duration { isLost ? .zero : max(store.leaseLeft, .zero) }

    /// Who answers for a tenant, where that is known at once.
    public func knownPlace(of tenant: TenantID) -> TenantPlace? {
        if served.contains(tenant) { return .here }
        guard !moving.contains(tenant), let owner = view.owners[tenant], owner != own else {
            return nil
        }
        return view.nodes[owner].map(TenantPlace.at)
    }

    /// Who answers for a tenant. This node takes one that nobody has, and waits for one that is on
    /// its way here.
    ///
    /// - Parameters:
    ///   - tenant: whose request it is.
    ///   - isPassedOn: whether another node takes this one for it: then nobody else is named.
    /// - Returns: who answers.
    /// - Throws: `tenantIsMoving` where that is not known after ten seconds, and at once where a
    ///   request was passed on to this node, which does not have the tenant; `store`.
    public func place(
        of tenant: TenantID, isPassedOn: Bool = false
    ) async throws(GatewayError) -> TenantPlace {
        let end = clock.uptime + NodeService.patience
        var hasLooked = false
        while true {
            if served.contains(tenant) { return .here }
            let owner = view.owners[tenant]
            if isLost, owner == nil {
                // It is found out where the tenant is when this node has joined again.
            } else if moving.contains(tenant) {
                if isPassedOn, owner == own, leaving == tenant { throw .tenantIsMoving }
            } else if let owner, owner != own {
                if isPassedOn {
                    // The other node may know it better than this one.
                    if hasLooked { throw .tenantIsMoving }
                } else if let node = view.nodes[owner] {
                    return .at(node)
                }
            } else if owner == nil, let other = successor {
                if isPassedOn { throw .tenantIsMoving }
                return .at(other)
            } else {
                try await take(tenant)
                if served.contains(tenant) { return .here }
            }
            guard clock.uptime < end, !isStopped else { throw .tenantIsMoving }
            if !hasLooked { store.endWait() }
            hasLooked = await look(within: .milliseconds(500)) || hasLooked
        }
    }

    /// Takes a tenant that nobody has, or that was given to this node.
    private func take(_ tenant: TenantID) async throws(GatewayError) {
        moving.insert(tenant)
        defer { arrived(tenant) }
        do throws(GatewayError) {
            try await reading { () throws(StoreError) in
                try await takeIfFree(tenant)
            }
        } catch {
            guard error == .store(.lost) else { throw error }
            lose()
        }
    }

    private func takeIfFree(_ tenant: TenantID) async throws(StoreError) {
        let owner = try await store.take(tenant)
        changeCount += 1
        view.owners[tenant] = owner
        if owner == own { try await takeOver([tenant], as: .taken) }
    }

    private func arrived(_ tenant: TenantID) {
        moving.remove(tenant)
        tellChange()
    }

    /// While this node is drained: the one that takes what is new.
    private var successor: NodeRecord? {
        guard isDraining else { return nil }
        let others = view.nodes.values.filter { $0.id != own && !$0.isDraining }
        return others.min { left, right in
            let counts = (view.tenants(of: left.id).count, view.tenants(of: right.id).count)
            return counts.0 != counts.1 ? counts.0 < counts.1 : left.id < right.id
        }
    }

    /// Waits until this node has looked how things stand, or something has changed.
    ///
    /// - Returns: whether it has, before the limit.
    private func look(within limit: Duration) async -> Bool {
        let seen = looks.seen
        let waiter = CompletionWaiter()
        waiters.removeAll(where: \.isOver)
        waiters.append(waiter)
        await waiter.wait(within: limit)
        return looks.seen != seen
    }

    /// Returns once a look that begins from now on has been followed: what another node has changed
    /// by now is known here then. One that is under way may have seen less. Returns after five
    /// seconds at the latest, and where the node is lost.
    public func caughtUp() async {
        let (underWay, end) = (looks.begun, clock.uptime + NodeService.catchUp)
        while looks.followed <= underWay, !isLost, !isStopped, !Task.isCancelled,
            clock.uptime < end
        {
            store.endWait()
            _ = await look(within: .milliseconds(500))
        }
    }

    private func wake() {
        let woken = waiters
        waiters = []
        for waiter in woken { waiter.end() }
    }

    private func tellChange() {
        wake()
        onChange?()
    }

    /// A node has not answered as it should: how things stand is looked at anew.
    public func lookSoon() { store.endWait() }

    /// Has a node hand over all that it has, or take part again.
    ///
    /// - Returns: the node.
    /// - Throws: `noSuchNode`, `store`.
    public func setDraining(
        _ isDraining: Bool, of node: NodeID
    ) async throws(GatewayError) -> NodeRecord {
        let isThere = try await reading { () throws(StoreError) in
            try await store.setDraining(isDraining, of: node)
        }
        guard isThere else { throw .noSuchNode }
        if view.nodes[node] == nil { await caughtUp() }
        guard var record = view.nodes[node] else { throw .noSuchNode }
        store.endWait()
        record.isDraining = isDraining
        return record
    }

    // MARK: At work

    /// Begins to take part.
    func start() {
        lease.start()
        LoopActor.start { [self] in await run() }
    }

    /// Takes over nothing any more.
    func stop() {
        isStopped = true
        lease.stop()
        store.endWait()
    }

    private func run() async {
        var limit = Duration.zero
        var isAway = false
        while !isStopped {
            if isLost {
                guard await comeBack() else { return }
                limit = .zero
            }
            do throws(StoreError) {
                let (count, began) = (changeCount, clock.uptime)
                looks.begun += 1
                let view = try await store.look(waiting: limit)
                if isStopped { return }
                isAway = false
                limit = count == changeCount ? NodeService.interval : .zero
                if count == changeCount { try await follow(view, from: began) }
            } catch .lost {
                lose()
            } catch {
                if !isAway, !isStopped {
                    log.write(
                        .warning, "how the nodes stand cannot be found out",
                        ["error": .words("\(error)")])
                }
                isAway = true
                await LoopActor.nextTurn(after: .seconds(1))
            }
        }
    }

    /// Does what follows from how the nodes stand.
    ///
    /// - Parameters:
    ///   - new: how they stood.
    ///   - began: when that was not yet looked at.
    /// - Throws: `StoreError`, where that takes reading and the store cannot be read.
    private func follow(_ new: NodeView, from began: Duration) async throws(StoreError) {
        if new != view {
            logChange(from: view, to: new)
            view = new
            // At once: the next look finds nothing new, also where this one is not followed to its
            // end.
            onChange?()
        }
        looks.seen = looks.begun
        let count = changeCount
        try await access.follow(new, unless: { served.contains(.operatorTenant) })
        // What this node has changed meanwhile is not in what it has seen.
        guard count == changeCount, !isStopped else { return wake() }
        dropLost()
        access.noteKnown(until: began)
        looks.followed = looks.begun
        await takeOverAssigned()
        try await removeEnding()
        wake()
        drainIfAsked()
    }

    /// Lets go of tenants that are not this node's any more, though it has not given them away, and
    /// of those that have been deleted.
    private func dropLost() {
        let before = served.tenants
        defer { if served.tenants != before { onChange?() } }
        for tenant in before ?? [] where !moving.contains(tenant) {
            let owner = view.owners[tenant]
            if owner == nil, !access.knows(tenant) { served.remove(tenant) }
            guard let owner, owner != own else { continue }
            log.write(
                .error, "another node has a tenant of this one: its work ends here",
                ["tenant": .number(Int(tenant.rawValue)), "node": .number(Int(owner.rawValue))])
            drop(tenant)
        }
    }

    /// Lets go of a tenant that other nodes have; `onChange` is the caller's to call.
    private func drop(_ tenant: TenantID) {
        served.remove(tenant)
        moving.insert(tenant)
        LoopActor.start { [self] in
            await loader.unload(tenant, isLost: true)
            arrived(tenant)
        }
    }

    /// Takes over what was given to this node: all at once, or one by one where one of them cannot
    /// be had.
    private func takeOverAssigned() async {
        let arriving = view.tenants(of: own).filter {
            !served.contains($0) && !moving.contains($0)
        }
        guard !arriving.isEmpty else { return }
        moving.formUnion(arriving)
        do throws(StoreError) {
            try await takeOver(arriving, as: .takenOver)
        } catch {
            log.write(
                .warning, "tenants cannot be taken over yet", ["error": .words("\(error)")])
            for tenant in arriving.count > 1 ? arriving : [] { await takeOverAlone(tenant) }
        }
        moving.subtract(arriving)
        tellChange()
    }

    private func takeOverAlone(_ tenant: TenantID) async {
        do throws(StoreError) {
            try await takeOver([tenant], as: .takenOver)
        } catch {
            log.write(
                .warning, "a tenant cannot be taken over yet",
                ["tenant": .number(Int(tenant.rawValue)), "error": .words("\(error)")])
        }
    }

    private func logChange(from old: NodeView, to new: NodeView) {
        for node in new.nodes.values where old.nodes[node.id] == nil && node.id != own {
            log.write(
                .notice, "a node has joined",
                ["node": .number(Int(node.id.rawValue)), "address": .name(node.address)])
        }
        for node in old.nodes.values where new.nodes[node.id] == nil {
            log.write(
                .warning, "a node is gone: others take its tenants over",
                ["node": .number(Int(node.id.rawValue)), "address": .name(node.address)])
        }
    }

    /// Takes tenants of this node into memory, and lets them go on. Nothing is in memory of those
    /// for which it throws.
    ///
    /// - Parameters:
    ///   - arriving: what is this node's by now, as far as is known.
    ///   - move: how those have come that no node has handed over; nil where this node itself has
    ///     settled them just now, and keeps them.
    /// - Throws: `StoreError`.
    private func takeOver(_ arriving: Set<TenantID>, as move: TenantMove?) async throws(StoreError)
    {
        if arriving.contains(.operatorTenant) { try await access.reload() }
        var stored = try await store.load(arriving)
        guard !stored.owned.isEmpty, !isStopped else { return }
        do {
            try await loader.discardParts(
                of: stored.contents, stored.owned.subtracting(stored.withPartsHere))
        } catch {
            throw error as? StoreError ?? .away("Old parts of downloads: \(error)")
        }
        // Another node may have got some of them meanwhile.
        stored = stored.limited(to: try await store.settle(stored.owned))
        guard !stored.owned.isEmpty, !isStopped, !isLost else { return }
        await loader.takeOver(
            stored, handedOver: move == nil ? stored.owned : stored.handedOver)
        guard !isLost else {
            for tenant in stored.owned { await loader.unload(tenant, isLost: true) }
            return
        }
        served.insert(stored.owned)
        for tenant in stored.owned { view.owners[tenant] = own }
        if let move {
            loader.tally.tenantMoves.add(.received, stored.handedOver.count)
            loader.tally.tenantMoves.add(move, stored.owned.count - stored.handedOver.count)
        }
        log.write(.notice, "tenants have arrived", ["tenants": .number(stored.owned.count)])
    }

    /// Goes on with the removal of tenants, those that nobody has among them.
    private func removeEnding() async throws(StoreError) {
        if served.contains(.operatorTenant) {
            for tenant in access.ending where view.owners[tenant] == nil {
                guard moving.insert(tenant).inserted else { continue }
                defer { moving.remove(tenant) }
                try await takeIfFree(tenant)
            }
        }
        access.removeEnding()
    }

    // MARK: Loss

    /// The others have taken this node for lost: all that it has stops at once, and leads nowhere.
    func lose() {
        guard lease.lose() else { return }
        changeCount += 1
        view.nodes[own] = nil
        view.owners = view.owners.filter { $0.value != own }
        loader.giveUp()
        for tenant in served.tenants ?? [] { drop(tenant) }
        tellChange()
        store.endWait()
    }

    /// Joins the others again, once nothing is left of what this node had.
    ///
    /// - Returns: false where it cannot, and the process is about to end.
    private func comeBack() async -> Bool {
        while !moving.isEmpty { _ = await look(within: .milliseconds(100)) }
        do throws(StoreError) {
            try await lease.renew { [self] () throws(StoreError) in
                try await access.reload()
                loader.beginAnew(as: own)
            }
            return true
        } catch {
            loader.fail(with: error)
            return false
        }
    }

    // MARK: Handing over

    private func drainIfAsked() {
        guard !isDraining, view.nodes[own]?.isDraining == true else { return }
        isDraining = true
        LoopActor.start { [self] in
            log.write(.notice, "the node hands its tenants over")
            let end = clock.uptime + NodeService.lastTasks
            while view.nodes[own]?.isDraining == true, !isStopped {
                let next = (served.tenants ?? []).subtracting(moving).min {
                    $0.rawValue < $1.rawValue
                }
                if let next, successor != nil {
                    await loader.letFinish(next, within: max(end - clock.uptime, .zero))
                    await handOver(next)
                } else {
                    _ = await look(within: NodeService.interval)
                }
            }
            isDraining = false
        }
    }

    private func handOver(_ tenant: TenantID) async {
        guard let node = successor, served.contains(tenant), moving.insert(tenant).inserted else {
            return
        }
        leaving = tenant
        defer { leaving = nil }
        served.remove(tenant)
        onChange?()
        await loader.unload(tenant)
        var hasFailed = false
        while !isStopped {
            do throws(StoreError) {
                let isGiven = try await store.give(tenant, to: node.id)
                changeCount += 1
                if isGiven {
                    view.owners[tenant] = node.id
                    loader.tally.tenantMoves.add(.handedOver)
                } else {
                    try await takeOver([tenant], as: nil)
                }
                log.write(
                    .notice, isGiven ? "a tenant was handed over" : "a tenant could not be given",
                    [
                        "tenant": .number(Int(tenant.rawValue)),
                        "node": .number(Int(node.id.rawValue)),
                    ])
                return arrived(tenant)
            } catch .lost {
                return arrived(tenant)
            } catch {
                if !hasFailed {
                    log.write(
                        .warning, "a tenant cannot be handed over yet",
                        [
                            "tenant": .number(Int(tenant.rawValue)),
                            "node": .number(Int(node.id.rawValue)), "error": .words("\(error)"),
                        ])
                }
                hasFailed = true
                await LoopActor.nextTurn(after: .seconds(1))
            }
        }
    }
}
