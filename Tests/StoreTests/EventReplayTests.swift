import Engine
import Semantics
import Testing

/// 0 gaps, 0 doubles, whatever the batches were.
@Suite struct EventReplayTests {
    @Test(arguments: StoreKind.allCases, [1, 3, 1000])
    func `replay after any event of any stream is the rest (R-8)`(
        kind: StoreKind, limit: Int
    ) async throws {
        try await kind.withStore { store in
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            for stream in history.streams {
                let expected = history.events.filter { stream.has($0) }
                #expect(try await store.oldestEvent(of: stream) == 1)
                for start in 0...expected.count {
                    var after = start == 0 ? 0 : stream.position(expected[start - 1])
                    var found: [Event] = []
                    while case let page = try await store.events(
                        EventQuery(stream: stream, after: after, limit: limit)),
                        let last = page.last
                    {
                        #expect(page.count <= limit)
                        found += page
                        after = stream.position(last)
                    }
                    #expect(found == Array(expected[start...]))
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `removed tasks leave no gap in the streams (R-8)`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            var batch = StoreBatch()
            batch.removedTasks = history.tasks.map(\.id)
            try await store.commit(batch)
            for task in history.tasks {
                #expect(try await store.task(task.id, of: task.tenant) == nil)
            }
            for stream in history.streams {
                let query = EventQuery(stream: stream, after: 0, limit: 10_000)
                #expect(try await store.events(query) == history.events.filter { stream.has($0) })
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a task that changes after its end tells the same story`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            var batch = StoreBatch()
            batch.changedTasks = history.tasks.map { task in
                var task = task
                task.options.description = "renamed"
                return task
            }
            try await store.commit(batch)
            for stream in history.streams {
                let query = EventQuery(stream: stream, after: 0, limit: 10_000)
                #expect(try await store.events(query) == history.events.filter { stream.has($0) })
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `inline data is kept without its bytes (S-58)`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            let event = world.event(
                .didReceiveData(offset: 9, length: 3, inline: true, bytes: [1, 2, 3]), of: task)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            batch.events = [event]
            try await store.commit(batch)
            let found = try await store.events(
                EventQuery(stream: .session(session), after: 0, limit: 1))
            #expect(
                found.map(\.body) == [
                    .didReceiveData(offset: 9, length: 3, inline: true, bytes: nil)
                ])
        }
    }
}

/// Three sessions of two tenants whose events interleave, in batches of every shape.
struct History {
    private(set) var batches: [StoreBatch] = []
    private(set) var events: [Event] = []
    private(set) var tasks: [TaskRecord] = []
    private(set) var sessions: [SessionID] = []

    /// Every member that may change, with a value and without.
    private static let changes: [TaskAppearance.Member] = [
        .state(.suspended), .suspendCount(2), .waitingFor(.retry), .waitingFor(nil),
        .nextAttemptAt(Timestamp(milliseconds: World.start)), .nextAttemptAt(nil),
        .startedAt(Timestamp(milliseconds: World.start + 1)), .startedAt(nil), .priority(0.25),
        .description("Ümlaut"), .description(nil),
        .earliestBeginDate(Timestamp(milliseconds: World.start + 2)), .earliestBeginDate(nil),
        .maximumBytesPerSecond(1 << 40), .maximumBytesPerSecond(nil),
    ]

    /// The decisions of some of the batches, in their newest form.
    static func decisions(of batches: some Sequence<StoreBatch>) -> [DecisionID: DecisionRecord] {
        batches.reduce(into: [:]) { newest, batch in
            for decision in batch.decisions { newest[decision.id] = decision }
        }
    }

    init() {
        var world = World()
        sessions = [world.makeSession(), world.makeSession(), world.makeSession(of: World.bob)]
        var story: [(inout StoreBatch, inout World) -> Void] = []
        let error = TransferError(.url(.timedOut), at: "https://example.com/a/b?c=d")
        for index in 0..<9 {
            let questions = (0..<3).map { place in
                let question = Question.all[(index * 3 + place) % Question.all.count]
                return question.event(
                    DecisionNotice(
                        id: DecisionID(rawValue: world.nextIdentifier()), kind: question.kind,
                        deadline: Timestamp(milliseconds: World.start + Int64(index))))
            }
            var task = world.makeTask(in: sessions[index % 3])
            let created = task
            task = task.completed(at: world.instant, error: index % 4 == 3 ? error : nil)
            if index % 5 == 4 { task.response?.headers.append("Set-Cookie", "s=\(index)") }
            let becomesDownload = index % 4 == 1
            if becomesDownload { task.dialogue.becameTask = TaskID(rawValue: Int64(index)) }
            tasks.append(task)
            let completed = task
            var early = ResponseRecord.plain
            early.status = 206
            let first = early
            story.append { batch, world in
                batch.createdTasks.append(created)
                batch.creations.append(
                    world.creation(
                        "key \(index)", of: [created.id.rawValue, 0], tenant: created.tenant))
                batch.events.append(world.event(.didCreate, of: created))
            }
            story.append { batch, world in
                let headers: HeaderList = index % 2 == 0 ? ["Set-Cookie": "i=1"] : ["Link": "</a>"]
                batch.events.append(
                    world.event(
                        .didReceiveInformationalResponse(status: 103, headers: headers), of: created
                    ))
                batch.events.append(world.event(.didReceiveResponse(first), of: created))
                let body: EventBody =
                    switch index % 4 {
                    case 0: .didReceiveResponse(.cookie)
                    case 1: .didResumeAtOffset(fileOffset: 1 << 40, expectedTotalBytes: unknownSize)
                    case 2 where index == 2:
                        .didFinishDownloading(SavedPlace(folder: "music", path: "a/ü"))
                    case 2: .willRetry(attempt: 2, delay: 0.75, reason: "503 Ümlaut")
                    case 3 where index == 3: .isWaitingForConnectivity
                    case 3: .didChange(Self.changes)
                    default: .didReceiveData(offset: 9, length: 3, inline: true, bytes: nil)
                    }
                for body in [body] + questions {
                    batch.events.append(world.event(body, of: created))
                    guard let notice = body.decision else { continue }
                    batch.decisions.append(
                        DecisionRecord(notice, body, of: created, at: world.instant))
                }
            }
            story.append { batch, world in
                if let place = batch.createdTasks.firstIndex(where: { $0.id == completed.id }) {
                    batch.createdTasks[place] = completed
                } else {
                    batch.changedTasks.append(completed)
                }
                for body in questions {
                    guard let notice = body.decision else { continue }
                    var answered = DecisionRecord(notice, body, of: created, at: world.instant)
                    answered.state = .answered
                    batch.decisions.removeAll { $0.id == answered.id }
                    batch.decisions.append(answered)
                }
                let ending: [EventBody] =
                    becomesDownload
                    ? [.didBecomeDownloadTask(TaskID(rawValue: Int64(index)))]
                    : [
                        .didFinishDownloading(), .didFinishCollectingMetrics(completed.metrics),
                        .didComplete(completed.error),
                    ]
                for body: EventBody in [
                    .didReceiveResponse(first), .didReceiveResponse(.plain),
                    .didReceiveResponse(completed.response ?? .plain),
                ] + ending {
                    batch.events.append(world.event(body, of: completed))
                }
            }
        }
        // Three stories at a time, so that tasks and sessions interleave; batches of one to seven
        // steps.
        let order = stride(from: 0, to: story.count, by: 9).flatMap { start in
            [0, 3, 6, 1, 4, 7, 2, 5, 8].map { start + $0 }
        }
        var size = 1
        var rest = order[...]
        while !rest.isEmpty {
            var batch = StoreBatch()
            for step in rest.prefix(size) { story[step](&batch, &world) }
            rest = rest.dropFirst(size)
            size = size % 7 + 1
            finish(&batch, world)
        }
        world.change(sessions[0]) { $0.state = .invalid }
        var last = StoreBatch()
        last.events = [
            world.event(.didChangeCredentialStorage, of: nil, in: sessions[0]),
            world.event(.didBecomeInvalid(nil), of: nil, in: sessions[0]),
            world.event(.didBecomeInvalid(error), of: nil, in: sessions[1]),
        ]
        finish(&last, world)
    }

    private mutating func finish(_ batch: inout StoreBatch, _ world: World) {
        batch.sessions = sessions.map(world.session)
        batch.tenantSequences = world.tenantSequences
        events += batch.events
        batches.append(batch)
    }

    var streams: [EventStreamKey] {
        sessions.map { .session($0) } + tasks.map { .task($0.id, session: $0.session) }
            + [.tenant(World.alice), .tenant(World.bob)]
    }
}

extension EventStreamKey {
    func has(_ event: Event) -> Bool {
        switch self {
        case .session(let session): event.session == session
        case .task(let task, _): event.task == task
        case .tenant(let tenant): event.tenant == tenant
        }
    }

    func position(_ event: Event) -> Int64 {
        if case .tenant = self { event.tenantSequence } else { event.sequence }
    }
}
