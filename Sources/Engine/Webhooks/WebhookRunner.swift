internal import Diagnostics
internal import Loop
internal import Metrics
internal import Semantics

/// Hears from webhooks what concerns others.
@LoopActor
protocol WebhookOwner: AnyObject {
    /// The gateway has disabled a webhook.
    func webhookWasDisabled(_ webhook: WebhookRecord, reason: WebhookDisabledReason)
    /// Everything that there was to tell has been told.
    func webhookIsIdle(_ webhook: WebhookRunner)
}

/// Posts the events of one webhook: reads them behind its cursor, and sends those of a task one
/// after the other, different ones side by side.
///
/// Of events that wait only the positions are in memory, and of so many at most; the rest, and
/// what they tell, is in the store. What the store has of a delivery may be behind what the
/// receiver has: then an event is sent twice, never not at all.
@LoopActor
final class WebhookRunner {
    /// How many positions are in memory.
    private static let window = 100_000
    private static let pageSize = 256

    private var state: Acknowledged<WebhookRecord>
    private let services: WebhookServices
    private weak var owner: (any WebhookOwner)?
    private var reader: WebhookReader
    private var queues = DeliveryQueues()
    private var tries: [Int64: WebhookTry?] = [:]
    private var waits = DeliveryWaits()
    private lazy var timer = LoopTimer { [weak self] in
        self?.goOn()
        self?.armTimer()
    }
    private var health = ReceiverHealth()
    private var waitsForSlot = false
    private var pool: (any ConnectionPool)?
    /// What was tried before and waits is being given up.
    private var givingUp: Task<Result<Void, StoreError>, Never>?
    /// Whether it has ended for good.
    private(set) var isOver = false
    private let log = Log("engine.webhooks")

    /// A webhook as the store has it, or one that is recorded in the same turn of the loop.
    init(
        _ record: WebhookRecord, isNew: Bool, services: WebhookServices, owner: any WebhookOwner
    ) {
        self.services = services
        self.owner = owner
        state =
            isNew
            ? Acknowledged(new: record, in: services.commits)
            : Acknowledged(record, in: services.commits)
        reader = WebhookReader(record)
        if isNew { reader.hasOutcomes = true }
    }

    /// The webhook in its newest form.
    var record: WebhookRecord { state.newest }

    /// The webhook as the store has it; nil where it has not heard of it.
    var shown: WebhookRecord? { state.shown }

    /// How many events are known to wait.
    var waitingCount: Int { queues.count }

    /// Whether every event of the stream has been told, or is not asked for.
    var isIdle: Bool {
        queues.count == 0 && reader.hasOutcomes
            && reader.position >= services.hub.newestPosition(of: record.stream)
    }

    // MARK: Changes

    /// Changes the webhook; what it goes on with is up to it.
    func change(_ change: (inout WebhookRecord) -> Void) {
        guard !isOver else { return }
        let before = record
        state.change { record in
            change(&record)
            if record.url != before.url { record.failingSince = nil }
        }
        services.commits.record(.webhook(record))
        if record.url != before.url { closeConnections() }
        // What is in memory may be old, or leave out what has another name.
        if before.state == .disabled || record.events != before.events { begin() }
        if before.state != .active || record.url != before.url {
            health.forget()
            endWaits()
        }
        goOn()
        armTimer()
    }

    /// Begins again behind a position: what was delivered after it is delivered once more.
    func replay(after position: Int64) {
        guard !isOver else { return }
        state.change { $0.cursor = position }
        services.commits.record(.replay(record))
        begin()
        goOn()
    }

    /// Tries an event now that waits, or sends one once more that was settled; `delivery` is what
    /// the store knows of it.
    func retry(_ delivery: DeliveryRecord) {
        guard !isOver else { return }
        let position = delivery.position
        // Newer than what the store was asked for: it may wait by now, be under way, or be settled.
        let known = reader.outcomes[position]
        if reader.hasOutcomes {
            guard tries[position] == nil else { return }
            guard known != nil || (delivery.state != .pending && !isInTurn(position)) else {
                return
            }
        }
        var newest = known ?? delivery
        newest.state = .pending
        newest.nextAttemptAt = nil
        services.commits.record(.delivery(newest))
        if !reader.hasOutcomes {
            begin()
        } else {
            reader.outcomes[position] = newest
            if let turn = waits.end(position) {
                queues.putBack(turn)
            } else if known == nil {
                queues.addAgain(position, of: delivery.session)
            }
        }
        goOn()
    }

    /// Whether an event that nobody has tried is to be sent in its turn, as after a replay.
    private func isInTurn(_ position: Int64) -> Bool {
        position > reader.position
            ? !reader.settled.contains(position) : queues.hasInTurn(position)
    }

    /// Gives up what was tried before and waits, as long as the webhook is disabled for its
    /// backlog: nothing of it is to be told any more. Who comes meanwhile waits for the same.
    func giveUpWaiting() async throws(StoreError) {
        let running = givingUp ?? beginGivingUp()
        try await running.value.get()
    }

    private func beginGivingUp() -> Task<Result<Void, StoreError>, Never> {
        let begun = LoopActor.start { [self] () async -> Result<Void, StoreError> in
            defer { givingUp = nil }
            do throws(StoreError) {
                await services.commits.caughtUp()
                giveUp(try await WebhookReader.outcomes(of: record, in: services.store).pending)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        givingUp = begun
        return begun
    }

    private func giveUp(_ waiting: [DeliveryRecord]) {
        guard !isOver, record.disabledReason == .backlog else { return }
        for var delivery in waiting {
            delivery.state = .failed
            delivery.nextAttemptAt = nil
            services.commits.record(.delivery(delivery))
        }
    }

    /// Stops for good: what is under way ends.
    func end() {
        isOver = true
        endTries()
        timer.cancel()
        closeConnections()
    }

    private func endTries() {
        for attempt in tries.values {
            attempt?.cancel()
            services.slots.giveBack(record.tenant)
        }
        tries = [:]
    }

    private func closeConnections() {
        pool?.close()
        pool = nil
    }

    /// Forgets what is in memory: everything behind the cursor is read again.
    private func begin() {
        endTries()
        reader.begin(record)
        queues = DeliveryQueues()
        waits = DeliveryWaits()
    }

    // MARK: Going on

    /// Reads, and sends, as much as there is and may be.
    func goOn() {
        guard !isOver, record.state == .active else { return }
        if let due = waits.next, due <= services.clock.uptime { endDueWaits() }
        readOn()
        while tries.count < health.width, let turn = nextTurn() {
            guard services.slots.take(record.tenant) else {
                queues.putBack(turn)
                return waitForSlot()
            }
            start(turn)
        }
        if isIdle { owner?.webhookIsIdle(self) }
    }

    private func waitForSlot() {
        guard !waitsForSlot else { return }
        waitsForSlot = true
        services.slots.wait(record.tenant) { [weak self] in
            self?.waitsForSlot = false
            self?.goOn()
        }
    }

    /// The next event to be sent; those that have to wait are put where they do.
    private func nextTurn() -> DeliveryQueues.Turn? {
        while let turn = queues.next() {
            let known = reader.outcomes[turn.position]
            if known == nil, !health.mayProbe(at: services.clock.uptime) {
                queues.putBack(turn)
                armTimer()
                return nil
            }
            guard let due = known?.nextAttemptAt, due > services.keptClock.now else { return turn }
            wait(turn, until: due)
        }
        return nil
    }

    private func wait(_ turn: DeliveryQueues.Turn, until due: KeptTime) {
        waits.add(turn, until: services.clock.uptime + due.since(services.keptClock.now))
        armTimer()
    }

    private func armTimer() {
        var next = waits.next
        // What is under way, or waits for a slot, goes on by itself.
        if health.isFailing, queues.readyCount > 0, tries.isEmpty, !waitsForSlot {
            next = min(next ?? health.nextProbe, health.nextProbe)
        }
        guard !isOver, record.state == .active, let next else { return timer.cancel() }
        timer.arm(after: max(.zero, next - services.clock.uptime))
    }

    private func endDueWaits() {
        for turn in waits.endDue(at: services.clock.uptime) { putBack(turn) }
    }

    /// Nothing has to wait for its time any more.
    private func endWaits() {
        for turn in waits.endAll() { putBack(turn) }
    }

    private func putBack(_ turn: DeliveryQueues.Turn) {
        reader.outcomes[turn.position]?.nextAttemptAt = nil
        queues.putBack(turn)
    }

    // MARK: Reading

    private func readOn() {
        guard !reader.isReading, queues.readyCount < ReceiverHealth.greatestWidth * 2,
            queues.count < WebhookRunner.window,
            reader.position < services.hub.newestPosition(of: record.stream)
                || !reader.hasOutcomes
        else { return }
        let round = reader.beginReading()
        let (webhook, position) = (record, reader.position)
        let newest = services.hub.newestPosition(of: webhook.stream)
        LoopActor.start { [self] in
            do throws(StoreError) {
                var outcomes = WebhookReader.Outcomes()
                if !reader.hasOutcomes {
                    // What was forgotten just now is not to be found again.
                    await services.commits.caughtUp()
                    outcomes = try await WebhookReader.outcomes(of: webhook, in: services.store)
                }
                let events = try await services.events(
                    of: webhook.stream, after: position, limit: WebhookRunner.pageSize)
                guard reader.endReading(round), !isOver else { return }
                reader.settled.formUnion(outcomes.settled)
                take(outcomes.pending)
                // Behind an event that is damaged a page ends early.
                take(events, through: events.isEmpty ? newest : nil)
                goOn()
            } catch {
                noteUnreadable(error)
                // The next event, or housekeeping, comes to it again.
                _ = reader.endReading(round)
            }
        }
    }

    private func noteUnreadable(_ error: StoreError) {
        log.write(
            .error, "a webhook's events cannot be read",
            ["webhook": .name(record.id.description), "error": .words("\(error)")])
    }

    private func take(_ pending: [DeliveryRecord]) {
        reader.hasOutcomes = true
        for delivery in pending {
            reader.outcomes[delivery.position] = delivery
            if delivery.position <= record.cursor {
                queues.addAgain(delivery.position, of: delivery.session)
            }
        }
    }

    private func take(_ events: [Event], through newest: Int64?) {
        for event in events {
            let position = record.stream.position(of: event)
            reader.position = position
            guard record.events.contains(event.body.name) else { continue }
            guard reader.settled.remove(position) == nil else { continue }
            reader.keep(event, at: position)
            queues.add(event, at: position)
        }
        if let newest { reader.position = max(reader.position, newest) }
    }

    // MARK: Sending

    private func start(_ turn: DeliveryQueues.Turn) {
        tries.updateValue(nil, forKey: turn.position)
        if reader.outcomes[turn.position] == nil { health.noteProbe(at: services.clock.uptime) }
        if let event = reader.takeEvent(at: turn.position) {
            send(event, turn)
            return
        }
        let round = reader.round
        LoopActor.start { [self] in
            do throws(StoreError) {
                let event = try await services.events(
                    of: record.stream, after: turn.position - 1, limit: 1
                ).first
                guard round == reader.round, !isOver else { return }
                if let event, record.stream.position(of: event) == turn.position {
                    send(event, turn)
                } else {
                    // What is not kept any more is not told.
                    settle(turn, reader.outcomes[turn.position], as: .failed)
                    goOn()
                }
            } catch {
                log.write(
                    .error, "an event for a webhook cannot be read",
                    ["webhook": .name(record.id.description), "error": .words("\(error)")])
                guard round == reader.round, !isOver else { return }
                leave(turn)
                wait(turn, until: services.keptClock.now.advanced(by: .seconds(1)))
            }
        }
    }

    private func send(_ event: Event, _ turn: DeliveryQueues.Turn) {
        let (isKnown, trace) = services.knownTrace(of: event)
        if isKnown { return post(event, turn, trace) }
        let round = reader.round
        LoopActor.start { [self] in
            let trace = await services.trace(of: event)
            if round == reader.round, !isOver { post(event, turn, trace) }
        }
    }

    private func post(_ event: Event, _ turn: DeliveryQueues.Turn, _ trace: TraceContext?) {
        let pool = pool ?? services.makePool(for: record.tenant)
        self.pool = pool
        let request = services.request(
            for: event, at: turn.position, of: record, trace: trace)
        tries[turn.position] = WebhookTry(
            request, in: pool, within: services.answerTime, clock: services.clock
        ) { [weak self] outcome in self?.ended(event, turn, outcome) }
    }

    private func ended(
        _ event: Event, _ turn: DeliveryQueues.Turn, _ outcome: WebhookTry.Outcome
    ) {
        if outcome.wasDenied { services.noteDenial(of: record) }
        var delivery =
            reader.outcomes[turn.position]
            ?? DeliveryRecord(
                webhook: record.id, position: turn.position, event: event.body.name,
                session: event.session, task: event.task)
        let now = services.keptClock.now
        delivery.add(outcome.attempt, at: now)
        let status = outcome.attempt.status
        let verdict = DeliverySchedule.verdict(
            status: status, retryAfter: outcome.retryAfter, tries: delivery.attemptCount,
            age: now.since(delivery.firstAttemptAt ?? now), jitter: .random(in: 0..<1))
        note(verdict, of: delivery, outcome.attempt)
        switch verdict {
        case .taken:
            noteSuccess()
            settle(turn, delivery, as: .delivered)
        case .givenUp:
            settle(turn, delivery, as: .failed)
            noteFailure(status)
        case .again(let delay):
            postpone(turn, delivery, until: now.advanced(by: delay))
            noteFailure(status)
        case .unwanted:
            services.commits.record(.delivery(delivery))
            leave(turn)
            disable(.gone)
        }
        goOn()
    }

    private func note(
        _ verdict: DeliverySchedule.Verdict, of delivery: DeliveryRecord, _ attempt: DeliveryAttempt
    ) {
        let result: DeliveryResult =
            switch verdict {
            case .taken: .delivered
            case .again: .postponed
            case .givenUp, .unwanted: .failed
            }
        services.tally.deliveries.add(result)
        let level: Log.Level = result == .failed ? .info : .debug
        guard Log.isWriting(level) else { return }
        log.write(
            level, "an event was posted to a webhook",
            [
                "webhook": .name(record.id.description),
                "delivery": .name(record.messageID(of: delivery.position)),
                "event": .name(delivery.event), "result": .name(result.rawValue),
                "status": .number(attempt.status ?? 0),
                "attempts": .number(delivery.attemptCount),
                "duration": .duration(.milliseconds(attempt.duration)),
            ])
    }

    private func leave(_ turn: DeliveryQueues.Turn) {
        tries[turn.position] = nil
        services.slots.giveBack(record.tenant)
    }

    /// An event is over; nobody knows of one that was not tried and is not kept any more.
    private func settle(
        _ turn: DeliveryQueues.Turn, _ delivery: DeliveryRecord?, as state: DeliveryState
    ) {
        leave(turn)
        reader.outcomes[turn.position] = nil
        queues.settle(turn)
        if var delivery {
            delivery.state = state
            delivery.nextAttemptAt = nil
            services.commits.record(.delivery(delivery))
        }
        noteCursor()
    }

    /// Tells the store how far it has got.
    func noteCursor() {
        guard reader.hasOutcomes else { return }
        let cursor = queues.oldest.map { $0 - 1 } ?? reader.position
        guard cursor > record.cursor else { return }
        state.newest.cursor = cursor
        services.commits.record(.webhookCursor(cursor, of: record.id))
    }

    private func noteSuccess() {
        health.noteSuccess { waits.positions }
        while let position = health.nextReturning() {
            guard let turn = waits.end(position) else { continue }
            putBack(turn)
            break
        }
        forgetFailures()
    }

    private func postpone(
        _ turn: DeliveryQueues.Turn, _ delivery: DeliveryRecord, until due: KeptTime
    ) {
        var delivery = delivery
        delivery.nextAttemptAt = due
        reader.outcomes[turn.position] = delivery
        services.commits.record(.delivery(delivery))
        leave(turn)
        wait(turn, until: due)
    }

    private func noteFailure(_ status: Int?) {
        health.noteFailure(status, at: services.clock.uptime)
        // Nothing is left that could show whether it goes on like this.
        guard queues.count > 0 else { return forgetFailures() }
        let now = services.keptClock.now
        guard let since = record.failingSince else {
            state.change { $0.failingSince = now }
            services.commits.record(.webhook(record))
            return
        }
        if now.since(since) >= DeliverySchedule.patience { disable(.failing) }
    }

    private func forgetFailures() {
        guard record.failingSince != nil else { return }
        state.change { $0.failingSince = nil }
        services.commits.record(.webhook(record))
    }

    // MARK: The end of patience

    /// Posts nothing any more, until its client says so.
    func disable(_ reason: WebhookDisabledReason) {
        guard record.state != .disabled else { return }
        noteCursor()
        state.change { record in
            record.state = .disabled
            record.disabledReason = reason
        }
        services.commits.record(.webhook(record))
        begin()
        timer.cancel()
        closeConnections()
        log.write(
            .warning, "a webhook was disabled",
            ["webhook": .name(record.id.description), "reason": .name(reason.rawValue)])
        owner?.webhookWasDisabled(record, reason: reason)
    }

    /// Disables it where too much waits for the receiver.
    func checkBacklog() async {
        noteCursor()
        let webhook = record
        let newest = services.hub.newestPosition(of: webhook.stream)
        guard !isOver, webhook.state != .disabled, newest > webhook.cursor else { return }
        // One that is refused holds up the cursor, and no other event.
        let unread = newest - max(webhook.cursor, reader.position)
        if unread > DeliverySchedule.backlog.events { return disable(.backlog) }
        guard webhook.state == .paused || queues.count > 0, let oldest = await oldest(of: webhook)
        else { return goOn() }
        // Whichever way the wall clock was set since, it is not older than this.
        let age = min(
            services.keptClock.now.since(services.keptClock.kept(at: oldest.at)),
            .milliseconds(services.clock.now.milliseconds - oldest.at.milliseconds))
        if !isOver, age > DeliverySchedule.backlog.age { disable(.backlog) } else { goOn() }
    }

    /// The first event that is not settled; nil where there is none, or it cannot be read now.
    private func oldest(of webhook: WebhookRecord) async -> Event? {
        do throws(StoreError) {
            return try await services.events(of: webhook.stream, after: webhook.cursor, limit: 1)
                .first
        } catch {
            noteUnreadable(error)
            return nil
        }
    }
}
