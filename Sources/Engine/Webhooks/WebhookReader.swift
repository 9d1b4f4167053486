internal import HeapModule
internal import Loop
internal import Semantics

/// How far a webhook has read its stream, and what is in memory of that.
struct WebhookReader {
    /// How many events are kept with what they tell: those that are to go out next.
    private static let eventLimit = 512
    private static let pageSize = 1000

    /// Up to which position the stream has been read.
    var position: Int64
    /// How events were tried that wait.
    var outcomes: [Int64: DeliveryRecord] = [:]
    /// Events that are still to be read, but were settled before.
    var settled: Set<Int64> = []
    /// Whether these have what the store knew when it began.
    var hasOutcomes = false
    private(set) var isReading = false
    /// Counts how often it has begun: what was asked for before is of no use.
    private(set) var round = 0
    private var events: [Int64: Event] = [:]

    init(_ webhook: WebhookRecord) { position = webhook.cursor }

    /// Begins anew behind the webhook's cursor.
    mutating func begin(_ webhook: WebhookRecord) {
        let next = round + 1
        self = WebhookReader(webhook)
        round = next
    }

    /// Returns the round that is to be given to `endReading`.
    mutating func beginReading() -> Int {
        isReading = true
        return round
    }

    /// Whether what was read is of use.
    mutating func endReading(_ round: Int) -> Bool {
        guard round == self.round else { return false }
        isReading = false
        return true
    }

    /// Keeps an event for the moment that it is sent, if there is room.
    mutating func keep(_ event: Event, at position: Int64) {
        if events.count < WebhookReader.eventLimit { events[position] = event }
    }

    /// Hands an event out; nil where it is in the store alone.
    mutating func takeEvent(at position: Int64) -> Event? { events.removeValue(forKey: position) }

    /// What the store knows of events.
    struct Outcomes {
        var pending: [DeliveryRecord] = []
        var settled: Set<Int64> = []
    }

    /// What the store knows of events that the webhook has not done with: those behind the cursor,
    /// and those that are sent once more.
    @LoopActor
    static func outcomes(
        of webhook: WebhookRecord, in store: any Store
    ) async throws(StoreError) -> Outcomes {
        var found = Outcomes()
        var query = DeliveryQuery(webhook: webhook.id, limit: pageSize)
        while true {
            let page = try await store.deliveries(query)
            let news = page.deliveries.filter { $0.position > webhook.cursor }
            found.pending += news.filter { $0.state == .pending }
            found.settled.formUnion(news.lazy.filter { $0.state != .pending }.map(\.position))
            guard let next = page.next, next > webhook.cursor else { break }
            query.before = next
        }
        query = DeliveryQuery(
            webhook: webhook.id, state: .pending,
            before: min(webhook.cursor, .max - 1) + 1, limit: pageSize)
        while true {
            let page = try await store.deliveries(query)
            found.pending += page.deliveries
            guard let next = page.next else { return found }
            query.before = next
        }
    }
}

/// Events that are tried again later.
struct DeliveryWaits {
    private struct Wait: Comparable {
        let due: Duration
        let position: Int64

        static func < (left: Wait, right: Wait) -> Bool { left.due < right.due }
    }

    private var turns: [Int64: (turn: DeliveryQueues.Turn, due: Duration)] = [:]
    /// Some have been ended meanwhile: those that `turns` does not have with this instant.
    private var dues = Heap<Wait>()

    /// By the monotonic clock; nil where nothing waits.
    var next: Duration? { dues.min?.due }

    mutating func add(_ turn: DeliveryQueues.Turn, until due: Duration) {
        turns[turn.position] = (turn, due)
        dues.insert(Wait(due: due, position: turn.position))
    }

    /// Ends the waits that are over, the first to be over last.
    mutating func endDue(at now: Duration) -> [DeliveryQueues.Turn] {
        var over: [DeliveryQueues.Turn] = []
        while let wait = dues.min, wait.due <= now {
            dues.removeMin()
            guard let waiting = turns[wait.position], waiting.due == wait.due else { continue }
            turns[wait.position] = nil
            over.append(waiting.turn)
        }
        return over.reversed()
    }

    /// Ends one wait; nil where there is none.
    mutating func end(_ position: Int64) -> DeliveryQueues.Turn? {
        turns.removeValue(forKey: position)?.turn
    }

    /// Of the events, ascending.
    var positions: [Int64] { turns.keys.sorted() }

    /// Ends all of them, the oldest event last.
    mutating func endAll() -> [DeliveryQueues.Turn] {
        defer { self = DeliveryWaits() }
        return turns.values.map(\.turn).sorted { $0.position > $1.position }
    }
}
