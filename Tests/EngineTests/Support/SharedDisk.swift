import Foundation
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine

/// A disk in memory that several nodes share, and what they know of each other.
final class SharedDisk: Sendable {
    private struct State {
        var view = NodeView()
        var handedOver: Set<TenantID> = []
        /// Which node has the parts of a tenant's downloads.
        var parts: [TenantID: NodeID] = [:]
        var version = 0
        /// Those that were ever given.
        var numbers: Set<Int64> = []

        /// Gives everybody's tenants to somebody who lives.
        mutating func assign() {
            for (tenant, owner) in view.owners where view.nodes[owner] == nil {
                let living = view.nodes.values.filter { !$0.isDraining }.map(\.id)
                view.owners[tenant] = living.min { left, right in
                    view.tenants(of: left).count < view.tenants(of: right).count
                }
                handedOver.remove(tenant)
            }
        }
    }

    let disk = MemoryStore()
    /// Where contents are that are whole.
    let folder: TemporaryDirectory
    /// How much of a download is sent there ahead at a time.
    let stretchLength: Int64
    private let state = Mutex(State())

    init(stretchLength: Int64 = 8 << 20) throws {
        folder = try TemporaryDirectory()
        self.stretchLength = stretchLength
    }

    /// The names of what was sent ahead.
    func sentAhead() throws -> [String] {
        try folder.contents().filter { $0.hasSuffix(".ahead") }.sorted()
    }

    /// The names of a task's whole contents.
    func wholeContents(of task: TaskID) throws -> [String] {
        try folder.contents().filter { name in
            let name = name.split(separator: "/").last.flatMap { ContentName($0) }
            return name?.owner == .task(task)
        }
    }

    /// Makes a task's whole contents so old, in seconds of a clock.
    func age(_ task: TaskID, by age: Int64, before clock: ManualClock) throws {
        let date = Date(
            timeIntervalSince1970: Double(clock.now.milliseconds / 1000 - age))
        for name in try wholeContents(of: task) {
            try FileManager.default.setAttributes(
                [.modificationDate: date], ofItemAtPath: folder.file(name))
        }
    }

    /// A store for one more node.
    func join(_ number: Int64) throws -> NodeOnDisk {
        let node = try #require(NodeID(number))
        change { state in
            state.numbers.insert(number)
            state.view.nodes[node] = NodeRecord(
                id: node, address: "http://node\(number).test",
                joinedAt: Timestamp(milliseconds: number))
        }
        return NodeOnDisk(self, node)
    }

    /// A node is killed: nothing that it commits is written any more, and others get its tenants;
    /// at the same moment what all nodes know may be another.
    func kill(_ node: NodeOnDisk, changingAccess: Bool = false) {
        node.scripted.refuse(with: .failed("It was killed."))
        change { state in
            state.view.nodes[node.node] = nil
            if changingAccess { state.view.accessVersion += 1 }
        }
    }

    /// A node that lives is taken for lost: others get its tenants before it joins them again.
    func lose(_ node: NodeOnDisk) {
        node.becomeLost()
        change { state in
            state.view.nodes[node.node] = nil
            state.assign()
        }
    }

    /// The number of one more node, behind all others.
    fileprivate func joinAgain() -> NodeID? {
        let last = state.withLock { $0.numbers.max() } ?? 0
        return (try? join(last + 1))?.node
    }

    /// Who has a tenant.
    func owner(of tenant: TenantID) -> NodeID? { state.withLock { $0.view.owners[tenant] } }

    private func change<Value>(_ body: (inout State) -> Value) -> Value {
        state.withLock { state in
            state.version += 1
            return body(&state)
        }
    }

    fileprivate var version: Int { state.withLock(\.version) }

    /// Has every node look soon.
    func hint() { change { _ in } }

    fileprivate func noteAccess(removed: [TenantID]) {
        change { state in
            state.view.accessVersion += 1
            for tenant in removed { state.view.owners[tenant] = nil }
        }
    }

    /// As the nodes stand, with everybody's tenants given to somebody who lives.
    fileprivate func assigned() -> NodeView {
        state.withLock { state in
            state.assign()
            return state.view
        }
    }

    fileprivate func take(_ tenant: TenantID, for node: NodeID) -> NodeID {
        change { state in
            let owner = state.view.owners[tenant] ?? node
            state.view.owners[tenant] = owner
            return owner
        }
    }

    /// A tenant is another node's, whoever had it.
    func move(_ tenant: TenantID, to node: NodeID) {
        change { $0.view.owners[tenant] = node }
    }

    fileprivate func give(_ tenant: TenantID, to node: NodeID) -> Bool {
        change { state in
            guard state.view.nodes[node] != nil else { return false }
            state.view.owners[tenant] = node
            state.handedOver.insert(tenant)
            return true
        }
    }

    fileprivate func setDraining(_ isDraining: Bool, of node: NodeID) -> Bool {
        change { state in
            state.view.nodes[node]?.isDraining = isDraining
            return state.view.nodes[node] != nil
        }
    }

    fileprivate func stored(
        _ contents: StoreContents, _ tenants: Set<TenantID>, at node: NodeID
    ) -> TenantContents {
        state.withLock { state in
            let owned = tenants.filter { state.view.owners[$0] == node }
            return TenantContents(
                contents, of: owned, handedOver: state.handedOver.intersection(owned),
                withPartsHere: owned.filter { state.parts[$0] == node })
        }
    }

    fileprivate func tenants(withPartsElsewhereThan node: NodeID) -> [TenantID] {
        state.withLock { $0.parts.filter { $0.value != node }.map(\.key) }
    }

    /// A task, whosever it is.
    fileprivate func record(of task: TaskID) async throws(StoreError) -> TaskRecord? {
        for tenant in state.withLock({ Array($0.view.owners.keys) }) {
            if let record = try await disk.task(task, of: tenant) { return record }
        }
        return nil
    }

    fileprivate func settle(_ tenants: Set<TenantID>, at node: NodeID) -> Set<TenantID> {
        change { state in
            let owned = tenants.filter { state.view.owners[$0] == node }
            state.handedOver.subtract(owned)
            for tenant in owned { state.parts[tenant] = node }
            return owned
        }
    }
}

/// The store of one node.
final class NodeOnDisk: NodeStore, StoreAround {
    private struct State {
        var node: NodeID
        var isLost = false
        var leaseLeft = Duration.seconds(12)
        var refusal: StoreError?
        var refusedCount = 0
        var loadError: StoreError?
        var unreadable: (task: TaskID, error: StoreError)?
        /// Whether looks that have seen how things stand do not come back yet, and how many wait.
        var holdsLooks = false
        var heldLooks = 0
        var beforeSettling: (@Sendable () -> Void)?
    }

    /// What the test scripts: commits, failures, reads.
    let scripted: ScriptedStore
    var inner: ScriptedStore { scripted }
    let shared: SharedDisk
    private let state: Mutex<State>

    fileprivate init(_ shared: SharedDisk, _ node: NodeID) {
        self.shared = shared
        state = Mutex(State(node: node))
        scripted = ScriptedStore(disk: shared.disk)
    }

    var node: NodeID { state.withLock(\.node) }

    // MARK: What the test says

    /// What is left of the lease.
    var leaseLeft: Duration {
        get { state.withLock(\.leaseLeft) }
        set { state.withLock { $0.leaseLeft = newValue } }
    }

    /// It cannot join again, until there is no error.
    func refuseToJoin(with error: StoreError?) { state.withLock { $0.refusal = error } }

    /// What all nodes know cannot be read, until there is no error.
    func refuseLoads(with error: StoreError?) { state.withLock { $0.loadError = error } }

    /// It cannot be told whether the content of a task is anybody's.
    func refuseToTell(of task: TaskID, with error: StoreError) {
        state.withLock { $0.unreadable = (task, error) }
    }

    /// What happens before tenants are settled.
    func beforeSettling(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.beforeSettling = body }
    }

    /// Has looks that have seen how things stand wait, or come back.
    func holdLooks(_ holds: Bool) { state.withLock { $0.holdsLooks = holds } }

    /// How many of them wait.
    var heldLooks: Int { state.withLock(\.heldLooks) }

    /// How often that was refused.
    var refusedCount: Int { state.withLock(\.refusedCount) }

    fileprivate func becomeLost() {
        scripted.refuse(with: .lost)
        state.withLock { $0.isLost = true }
    }

    private func check() throws(StoreError) {
        if state.withLock(\.isLost) { throw .lost }
    }

    // MARK: Nodes

    func rejoin() async throws(StoreError) {
        let refusal = state.withLock { state in
            if state.refusal != nil { state.refusedCount += 1 }
            return state.refusal
        }
        if let refusal { throw refusal }
        guard let node = shared.joinAgain() else { throw .failed("There is no number left.") }
        state.withLock { ($0.node, $0.isLost) = (node, false) }
        scripted.refuse(with: nil)
    }

    func look(waiting limit: Duration) async throws(StoreError) -> NodeView {
        let (version, end) = (shared.version, ContinuousClock.now + limit)
        while shared.version == version, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(2))
        }
        try check()
        let view = shared.assigned()
        state.withLock { $0.heldLooks += 1 }
        defer { state.withLock { $0.heldLooks -= 1 } }
        while state.withLock(\.holdsLooks) { try? await Task.sleep(for: .milliseconds(2)) }
        return view
    }

    func endWait() { shared.hint() }

    func take(_ tenant: TenantID) async throws(StoreError) -> NodeID {
        try check()
        return shared.take(tenant, for: node)
    }

    func give(_ tenant: TenantID, to node: NodeID) async throws(StoreError) -> Bool {
        try check()
        return shared.give(tenant, to: node)
    }

    func setDraining(_ isDraining: Bool, of node: NodeID) async throws(StoreError) -> Bool {
        try check()
        return shared.setDraining(isDraining, of: node)
    }

    func load() async throws(StoreError) -> StoreContents {
        if let error = state.withLock(\.loadError) { throw error }
        let all = try await shared.disk.load()
        var contents = StoreContents()
        contents.tenants = all.tenants
        contents.tokens = all.tokens
        contents.lastIdentifier = all.lastIdentifier
        contents.gatewayLimit = all.gatewayLimit
        contents.backgroundUpdates = all.backgroundUpdates
        return contents
    }

    func load(_ tenants: Set<TenantID>) async throws(StoreError) -> TenantContents {
        try check()
        let contents = try await shared.disk.load().limited(to: tenants)
        return shared.stored(contents, tenants, at: node)
    }

    func settle(_ tenants: Set<TenantID>) async throws(StoreError) -> Set<TenantID> {
        try check()
        state.withLock(\.beforeSettling)?()
        return shared.settle(tenants, at: node)
    }

    func needs(
        _ kind: ContentKind, of content: ContentName
    ) async throws(StoreError) -> Bool {
        if let (task, error) = state.withLock(\.unreadable), content.owner == .task(task) {
            throw error
        }
        switch content.owner {
        case .task(let task):
            guard try await shared.disk.knows(task) else { return false }
            if try await !hasOutstanding(task) {
                let told = try await shared.record(of: task)?.content
                if kind != .part { return told != nil && told?.series == content.series }
                if told?.series != nil { return false }
            }
            for tenant in shared.tenants(withPartsElsewhereThan: node) where kind == .part {
                if try await shared.disk.task(task, of: tenant) != nil { return false }
            }
            return true
        case .file(let file):
            let files = try await shared.disk.load().files
            return files.contains {
                $0.id == file
                    && (!$0.isComplete || $0.series == (kind == .part ? nil : content.series))
            }
        case .entry(let response): return try await shared.disk.knows(response)
        }
    }

    func hasOutstanding(_ id: TaskID) async throws(StoreError) -> Bool {
        try await shared.disk.load().activeTasks.contains { $0.id == id }
    }

    func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        let receipt = try await scripted.commit(batch)
        let changesAccess =
            !batch.tenants.isEmpty || !batch.tokens.isEmpty || !batch.removedTokens.isEmpty
            || !batch.removedTenants.isEmpty || batch.gatewayLimit != nil
            || batch.backgroundUpdates != nil
        if changesAccess { shared.noteAccess(removed: batch.removedTenants) }
        return receipt
    }
}
