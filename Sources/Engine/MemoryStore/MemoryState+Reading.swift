internal import DequeModule
internal import Semantics

extension MemoryState {
    /// How many tasks of a session one search looks at: the lock is held meanwhile.
    private static let searchLength = 1000

    func tasks(_ query: TaskQuery) -> TaskPage {
        if let session = query.session {
            return sessions[session].map { page($0, query) } ?? TaskPage()
        }
        let pages = sessions.values.filter { $0.record?.tenant == query.tenant }.map {
            page($0, query)
        }
        return TaskPage(merging: pages, query)
    }

    private func page(_ kept: Kept, _ query: TaskQuery) -> TaskPage {
        var page = TaskPage()
        var looks = 0
        var bulk = 0
        for id in query.order.elements(of: kept.tasks, behind: query.after) {
            guard page.tasks.count < query.limit else { break }
            looks += 1
            if let task = tasks[id], task.tenant == query.tenant,
                query.states.contains(task.state), query.types?.contains(task.type) ?? true,
                query.filter.fits(task)
            {
                page.tasks.append(task)
                bulk += task.bulk
            }
            let isOver = looks == MemoryState.searchLength || bulk >= TaskPage.bulkLimit
            if isOver, page.tasks.count < query.limit {
                page.searchedThrough = id
                break
            }
        }
        return page
    }

    func counts(of session: SessionID) -> [TaskState: Int] {
        sessions[session]?.counts.filter { $0.value > 0 } ?? [:]
    }

    func events(_ query: EventQuery) -> [Event] {
        switch query.stream {
        case .session(let session):
            let events = sessions[session]?.events ?? []
            let start = events.partitioningIndex { $0.sequence > query.after }
            return Array(events[start...].prefix(query.limit))
        case .task(let task, let session):
            let events = sessions[session]?.events ?? []
            let first = max(query.after, (firstEvents[task] ?? .max) - 1)
            let start = events.partitioningIndex { $0.sequence > first }
            return Array(
                events[start...].lazy.filter { $0.task == task && $0.body != .didDelete }
                    .prefix(query.limit))
        case .tenant(let tenant): return merged(tenant, after: query.after, limit: query.limit)
        }
    }

    /// The events of all of a tenant's sessions, each of which is ascending.
    private func merged(_ tenant: TenantID, after: Int64, limit: Int) -> [Event] {
        var queues: [Deque<Event>.SubSequence] = sessions.values.compactMap { kept in
            guard kept.events.first?.tenant == tenant else { return nil }
            let start = kept.events.partitioningIndex { $0.tenantSequence > after }
            return start < kept.events.endIndex ? kept.events[start...] : nil
        }
        var page: [Event] = []
        while page.count < limit {
            var next: (queue: Int, event: Event)?
            for (index, queue) in queues.enumerated() {
                guard let event = queue.first else { continue }
                if next.map({ event.tenantSequence < $0.event.tenantSequence }) ?? true {
                    next = (index, event)
                }
            }
            guard let next else { break }
            page.append(next.event)
            queues[next.queue].removeFirst()
        }
        return page
    }

    func oldest(of stream: EventStreamKey) -> Int64? {
        switch stream {
        case .session(let session): sessions[session].map { $0.forgotten + 1 }
        case .task(let task, let session):
            sessions[session].flatMap { kept in
                firstEvents[task].map { $0 > kept.forgotten ? 1 : kept.forgotten + 1 }
            }
        case .tenant(let tenant): tenants[tenant].map { $0.forgotten + 1 }
        }
    }
}

extension RandomAccessCollection where Index == Int {
    /// The first index from which on the predicate holds, where it holds for no element before one
    /// for which it does not.
    func partitioningIndex(_ predicate: (Element) -> Bool) -> Int {
        var low = startIndex
        var high = endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if predicate(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
