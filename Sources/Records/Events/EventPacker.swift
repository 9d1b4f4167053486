package import Engine
package import Semantics

/// Packs a batch's events by session, and notes which events belong to which of its tasks.
package struct EventPacker {
    /// The session's sequences of a task's events in this batch; 0 where there is none.
    package struct Marks {
        /// Of a created task, no event has a lower one.
        package var first: Int64 = 0
        /// Of the task's terminal event.
        package var last: Int64 = 0
    }

    package private(set) var packs: [EventPackWriter] = []
    /// The greatest number of a decision that an event asks for: the event may outlive the
    /// decision's row. 0 for none.
    package private(set) var newestDecision: Int64 = 0
    /// For each created task, then for each changed one.
    package private(set) var marks: [Marks]

    private let sealer: any Sealer
    private let created: [TaskRecord]
    private let changed: [TaskRecord]
    private var places: [TaskID: Int] = [:]
    private var packOfSession: [SessionID: Int] = [:]
    /// Where the last event went; mostly the next one goes there too.
    private var lastPack = 0
    private var scratch = RecordParts()

    package init(_ batch: StoreBatch, sealer: any Sealer) {
        self.sealer = sealer
        created = batch.createdTasks
        changed = batch.changedTasks
        marks = Array(repeating: Marks(), count: created.count + changed.count)
        guard !batch.events.isEmpty else { return }
        places.reserveCapacity(marks.count)
        for index in created.indices { places[created[index].id] = index }
        for index in changed.indices { places[changed[index].id] = created.count + index }
    }

    /// The newest tenant sequence of each tenant in this batch.
    package var newestOfTenant: [TenantID: Int64] {
        packs.reduce(into: [:]) { newest, pack in
            newest[pack.tenant] = max(newest[pack.tenant] ?? 0, pack.newestTenantSequence)
        }
    }

    package mutating func pack(_ events: [Event]) throws {
        // Events of one task mostly follow one another.
        var lastTask: TaskID?
        var place: Int?
        for event in events {
            if event.task != lastTask {
                lastTask = event.task
                place = event.task.flatMap { places[$0] }
            }
            if let place {
                if marks[place].first == 0 { marks[place].first = event.sequence }
                if event.body.isTerminal { marks[place].last = event.sequence }
            }
            try append(event, task: place)
        }
    }

    /// Where a created task's events begin at the earliest, for one that has none in this batch.
    package mutating func completeMarks(from sessions: [SessionRecord]) {
        for index in created.indices where marks[index].first == 0 {
            let session = sessions.first { $0.id == created[index].session }
            marks[index].first = session.map { $0.lastSequence + 1 } ?? 0
        }
    }

    private mutating func append(_ event: Event, task place: Int?) throws {
        let payload = try payload(of: event, task: place)
        if lastPack >= packs.count || packs[lastPack].session != event.session {
            lastPack = packOfSession[event.session] ?? packs.count
        }
        if lastPack == packs.count {
            packOfSession[event.session] = lastPack
            packs.append(EventPackWriter(startingAt: event))
        }
        packs[lastPack].append(event, payload)
    }

    private mutating func payload(of event: Event, task place: Int?) throws -> EventPayload {
        switch event.body {
        case .didCreate, .didFinishDownloading(nil), .didComplete(nil), .didDelete: return .none
        default: break
        }
        if let decision = event.body.decision {
            newestDecision = max(newestDecision, decision.id.rawValue)
        }
        if let place {
            let isDerived =
                place < created.count
                ? EventCoding.isDerived(event.body, from: created[place])
                : EventCoding.isDerived(event.body, from: changed[place - created.count])
            if isDerived { return .derived }
        }
        scratch.reset()
        EventCoding.write(event.body, to: &scratch)
        guard !scratch.secret.isEmpty else {
            return scratch.clear.isEmpty ? .none : .clear(scratch.clear.bytes)
        }
        return .sealed(
            try sealer.seal(
                scratch.clear.bytes + scratch.secret.bytes,
                for: .event(event.sequence, of: event.session, tenant: event.tenant)))
    }
}
