internal import DequeModule
internal import Semantics

/// The events that wait for a receiver, by position alone, and in which order they go out: those of
/// a task one behind the other, different tasks side by side. That a session has no more to tell
/// goes out when everything before it in the session is settled.
struct DeliveryQueues {
    /// An event whose turn it is.
    struct Turn: Hashable {
        let position: Int64
        let session: SessionID
        fileprivate let queue: Queue
    }

    fileprivate enum Queue: Hashable {
        case task(TaskID)
        case session(SessionID)
        /// An event that was settled, and is sent once more.
        case again(Int64)
    }

    /// The event that tells the end of a session, and how many before it are not settled.
    private struct End {
        let position: Int64
        var unsettledBefore: Int
    }

    private var queues: [Queue: Deque<Int64>] = [:]
    private var ready = Deque<Turn>()
    private var ends: [SessionID: [End]] = [:]
    private var unsettledCounts: [SessionID: Int] = [:]
    /// Ascending. Those that are settled out of turn stay until they are at the front.
    private var order = Deque<Int64>()
    private var settledOutOfTurn: Set<Int64> = []
    /// How many events are not settled.
    private(set) var count = 0

    /// How many events could be sent now.
    var readyCount: Int { ready.count }

    /// The oldest position that is not settled, sent once more or not counted; nil where there is
    /// none.
    var oldest: Int64? { order.first }

    /// Whether an event of its queue waits, or is under way; not one that is sent once more.
    func hasInTurn(_ position: Int64) -> Bool {
        let place = order.partitioningIndex { $0 >= position }
        return place < order.count && order[place] == position
            && !settledOutOfTurn.contains(position)
    }

    // MARK: Coming

    /// Takes an event in, behind all that came before it.
    mutating func add(_ event: Event, at position: Int64) {
        let queue = event.task.map(Queue.task) ?? .session(event.session)
        order.append(position)
        let unsettled = unsettledCounts[event.session, default: 0]
        unsettledCounts[event.session] = unsettled + 1
        if event.body.endsSession, event.task == nil {
            ends[event.session, default: []].append(
                End(position: position, unsettledBefore: unsettled))
        }
        append(position, to: queue, of: event.session)
    }

    /// Takes in an event that was settled before: it is sent at once, unless it waits for that
    /// already.
    mutating func addAgain(_ position: Int64, of session: SessionID) {
        guard queues[.again(position)] == nil else { return }
        append(position, to: .again(position), of: session)
    }

    private mutating func append(_ position: Int64, to queue: Queue, of session: SessionID) {
        count += 1
        queues[queue, default: []].append(position)
        if queues[queue]?.count == 1 { release(queue, of: session) }
    }

    /// The first event of a queue may go out, unless it has to wait for others.
    private mutating func release(_ queue: Queue, of session: SessionID) {
        guard let position = queues[queue]?.first else { return }
        if case .session = queue,
            let end = ends[session]?.first(where: { $0.position == position }),
            end.unsettledBefore > 0
        {
            return
        }
        ready.append(Turn(position: position, session: session, queue: queue))
    }

    // MARK: Going

    /// The next event to be sent, which is under way from now on.
    mutating func next() -> Turn? { ready.popFirst() }

    /// An event that was under way is to be sent, before the others.
    mutating func putBack(_ turn: Turn) { ready.prepend(turn) }

    /// An event was taken, or given up: the next of its queue may go out.
    mutating func settle(_ turn: Turn) {
        count -= 1
        queues[turn.queue]?.removeFirst()
        if queues[turn.queue]?.isEmpty ?? true { queues[turn.queue] = nil }
        if case .again = turn.queue { return }
        settledOutOfTurn.insert(turn.position)
        while let first = order.first, settledOutOfTurn.remove(first) != nil { order.removeFirst() }
        let freed = countSettled(turn)
        release(turn.queue, of: turn.session)
        let queue = Queue.session(turn.session)
        if let freed, turn.queue != queue, queues[queue]?.first == freed {
            release(queue, of: turn.session)
        }
    }

    /// Counts an event that is settled; returns the end that waits for nothing else any more.
    private mutating func countSettled(_ turn: Turn) -> Int64? {
        let left = unsettledCounts[turn.session, default: 1] - 1
        unsettledCounts[turn.session] = left == 0 ? nil : left
        guard var waiting = ends[turn.session] else { return nil }
        waiting.removeAll { $0.position == turn.position }
        var freed: Int64?
        for index in waiting.indices where turn.position < waiting[index].position {
            waiting[index].unsettledBefore -= 1
            if waiting[index].unsettledBefore == 0 { freed = waiting[index].position }
        }
        ends[turn.session] = waiting.isEmpty ? nil : waiting
        return freed
    }
}
