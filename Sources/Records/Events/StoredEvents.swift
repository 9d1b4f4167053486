package import Engine
package import Semantics

/// Where packs of events lie, in one state of a database.
package protocol EventPackSource {
    /// What tells one pack from the others.
    associatedtype Pack: Sendable
    /// Goes over a session's packs whose last event comes behind a position, in their order, until
    /// `body` answers false. Each is told by its tenant, its bytes and its name.
    func forEachPack(
        of session: SessionID, after: Int64,
        _ body: (TenantID, [UInt8], Pack) throws(StoreError) -> Bool
    ) throws(StoreError)
    /// Goes over a tenant's packs of commits whose last event comes behind a position, in their
    /// order, until `body` answers false. Each is told by its session, its bytes, the newest tenant
    /// sequence of its commit, and its name.
    func forEachPack(
        of tenant: TenantID, after: Int64,
        _ body: (SessionID, [UInt8], Int64, Pack) throws(StoreError) -> Bool
    ) throws(StoreError)
    /// None of the task's events has a lower sequence than this one; nil where there is no task.
    func firstEvent(of task: TaskID) throws(StoreError) -> Int64?
    /// How a tenant's tasks have ended, also those that have been removed, as far as there are
    /// such; or why that cannot be read.
    func outcomes(
        of tasks: Set<TaskID>, tenant: TenantID
    ) throws(StoreError) -> [TaskID: Result<TaskOutcome, StoreError>]
}

/// Reads events from one state of a database.
package struct StoredEvents<Source: EventPackSource> {
    private let source: Source
    private let sealer: any Sealer

    package init(in source: Source, sealer: any Sealer) {
        self.source = source
        self.sealer = sealer
    }

    /// A packed event and the pack's session.
    private struct Found {
        let pack: Source.Pack?
        let tenant: TenantID
        let session: SessionID
        let event: PackedEvent
    }

    private typealias Outcomes = [TaskID: Result<TaskOutcome, StoreError>]

    /// A pack that cannot be read, or an event of it.
    package struct Damage: Sendable {
        package let pack: Source.Pack
        package let words: String
    }

    /// A page of a stream, as far as it can be read; `damage` stands where it would begin.
    package func events(
        _ query: EventQuery
    ) throws(StoreError) -> (events: [Event], damage: Damage?) {
        guard query.limit > 0 else { return ([], nil) }
        let (found, damage) =
            switch query.stream {
            case .session(let session):
                try find(of: session, after: query.after, limit: query.limit)
            case .task(let task, let session): try find(of: task, in: session, query)
            case .tenant(let tenant): try find(of: tenant, query)
            }
        return try complete(found, damage)
    }

    /// Reads every event of a pack.
    /// - Throws: `damaged` where one cannot be told.
    package func readAll(
        _ pack: [UInt8], of session: SessionID, tenant: TenantID
    ) throws(StoreError) {
        var reader = try EventPackReader(pack)
        var found: [Found] = []
        while let event = try reader.next() {
            found.append(Found(pack: nil, tenant: tenant, session: session, event: event))
        }
        let outcomes = try outcomes(of: found)
        for found in found { _ = try body(of: found, outcomes) }
    }

    // MARK: Packs

    private func find(
        of session: SessionID, after: Int64, limit: Int, only task: TaskID? = nil
    ) throws(StoreError) -> (found: [Found], damage: Damage?) {
        var found: [Found] = []
        var damage: Damage?
        try source.forEachPack(of: session, after: after) { tenant, bytes, id throws(StoreError) in
            do throws(StoreError) {
                var pack = try EventPackReader(bytes)
                while let event = try pack.next() {
                    guard event.sequence > after,
                        task == nil || (event.task == task && event.kind != .didDelete)
                    else { continue }
                    found.append(Found(pack: id, tenant: tenant, session: session, event: event))
                    // A task's stream ends with its last event (S-57).
                    let isOver = task != nil && event.kind.endsTask
                    if found.count == limit || isOver { return false }
                }
                return true
            } catch {
                damage = try Self.damage(error, of: id)
                return false
            }
        }
        return (found, damage)
    }

    /// The session's packs are read from the task's first event to its last.
    private func find(
        of task: TaskID, in session: SessionID, _ query: EventQuery
    ) throws(StoreError) -> (found: [Found], damage: Damage?) {
        guard let first = try source.firstEvent(of: task) else { return ([], nil) }
        return try find(
            of: session, after: max(query.after, first - 1), limit: query.limit, only: task)
    }

    /// Packs of one commit have the same newest tenant sequence and are read together: their events
    /// interleave.
    private func find(
        of tenant: TenantID, _ query: EventQuery
    ) throws(StoreError) -> (found: [Found], damage: Damage?) {
        var found: [Found] = []
        var damage: Damage?
        var through: Int64 = 0
        var countBefore = 0
        try source.forEachPack(of: tenant, after: query.after) {
            session, bytes, newest, id throws(StoreError) in
            guard found.count < query.limit || newest == through else { return false }
            if newest != through { countBefore = found.count }
            through = newest
            do throws(StoreError) {
                var pack = try EventPackReader(bytes)
                while let event = try pack.next() {
                    guard event.tenantSequence > query.after else { continue }
                    found.append(Found(pack: id, tenant: tenant, session: session, event: event))
                }
                return true
            } catch {
                damage = try Self.damage(error, of: id)
                // What interleaves with it would have gaps.
                found.removeLast(found.count - countBefore)
                return false
            }
        }
        found.sort { $0.event.tenantSequence < $1.event.tenantSequence }
        return (Array(found.prefix(query.limit)), damage)
    }

    // MARK: Bodies

    private func complete(
        _ found: [Found], _ damage: Damage?
    ) throws(StoreError) -> (events: [Event], damage: Damage?) {
        let outcomes = try outcomes(of: found)
        var events: [Event] = []
        for found in found {
            let event = found.event
            do throws(StoreError) {
                events.append(
                    Event(
                        tenant: found.tenant, session: found.session, sequence: event.sequence,
                        tenantSequence: event.tenantSequence, task: event.task, at: event.at,
                        body: try body(of: found, outcomes)))
            } catch {
                guard let pack = found.pack else { throw error }
                let damage = try Self.damage(error, of: pack)
                return (events, events.isEmpty ? damage : nil)
            }
        }
        return (events, events.isEmpty ? damage : nil)
    }

    /// How the tasks have ended by which the events are told; all are of one tenant.
    private func outcomes(of found: [Found]) throws(StoreError) -> Outcomes {
        var tasks: Set<TaskID> = []
        for found in found where found.event.payload == .derived {
            if let task = found.event.task { tasks.insert(task) }
        }
        guard let tenant = found.first?.tenant, !tasks.isEmpty else { return [:] }
        return try source.outcomes(of: tasks, tenant: tenant)
    }

    private func body(of found: Found, _ outcomes: Outcomes) throws(StoreError) -> EventBody {
        let event = found.event
        switch event.payload {
        case .none: return try EventCoding.body(event.kind, payload: [])
        case .clear(let bytes): return try EventCoding.body(event.kind, payload: bytes)
        case .sealed(let bytes):
            let context = SealContext.event(event.sequence, of: found.session, tenant: found.tenant)
            return try EventCoding.body(
                event.kind, payload: try sealer.openIfPresent(bytes, for: context) ?? [])
        case .derived:
            guard let outcome = event.task.flatMap({ outcomes[$0] }) else { throw .damagedRecord }
            return try EventCoding.body(event.kind, from: try outcome.get())
        }
    }

    /// Any other error is thrown again.
    private static func damage(
        _ error: StoreError, of pack: Source.Pack
    ) throws(StoreError) -> Damage {
        guard case .damaged(let words) = error else { throw error }
        return Damage(pack: pack, words: words)
    }
}
