import Engine
import Semantics
import Testing

/// Changes that have a precondition: who comes first wins, and who comes later changes nothing.
/// Every store passes.
@Suite struct ConflictTests {
    @Test(arguments: StoreKind.allCases)
    func `a key creates once: nothing is written of what comes under it later (R-10)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let first = world.makeTask(in: session)
            var batch = world.batch(session)
            batch.createdTasks = [first]
            batch.creations = [world.creation("k", of: [first.id.rawValue])]
            #expect(try await store.commit(batch) == CommitReceipt())
            let winner = batch.creations[0]

            let late = (0..<2).map { _ in world.makeTask(in: session) }
            let other = world.makeTask(in: session)
            let tasks = [late[0], other, late[1]]
            world.tick()
            let refused = world.creation("k", of: [late[0].id.rawValue, 0, late[1].id.rawValue])
            let accepted = world.creation("l", of: [other.id.rawValue])
            let events = tasks.map { world.event(.didCreate, of: $0) }
            let question = world.makeDecision(Question.all[0], of: late[1])
            batch = world.batch(session)
            batch.createdTasks = tasks
            batch.creations = [refused, accepted]
            batch.contents = tasks.map { ($0.id, [1, 2]) }
            batch.events = events
            batch.decisions = [question]
            let receipt = try await store.commit(batch)
            #expect(receipt.conflicts == [.creation(CreationKey(refused))])
            #expect(try await store.creation(of: "k", of: World.alice) == winner)
            #expect(try await store.creation(of: "l", of: World.alice) == accepted)
            for task in late {
                #expect(try await store.task(task.id, of: World.alice) == nil)
                #expect(try await !store.knows(task.id))
                #expect(try await store.content(of: task.id) == nil)
            }
            #expect(try await store.decision(question.id, of: World.alice) == nil)
            #expect(try await store.task(other.id, of: World.alice) == other)
            #expect(try await store.content(of: other.id) == [1, 2])
            let stream = EventQuery(stream: .session(session), after: 0, limit: 10)
            #expect(try await store.events(stream) == [events[1]])
            #expect(try await store.tasks(TaskQuery(tenant: World.alice)).tasks == [first, other])
            #expect(try await store.taskCounts(of: session) == [.suspended: 2])
            // The numbers that the session has given are given.
            #expect(try await store.load().sessions == [world.session(session)])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `neither a session nor a file comes under a key that is taken (R-10)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            var batch = StoreBatch()
            batch.creations = [world.creation("s", of: [1]), world.creation("f", of: [2])]
            try await store.commit(batch)
            let (session, other) = (world.makeSession(), world.makeSession())
            let (file, kept) = (world.makeFile(), world.makeFile())
            batch = world.batch(session, other)
            batch.files = [file, kept]
            batch.cookies = [SessionChange(session: session, tenant: World.alice)]
            batch.creations = [
                world.creation("s", of: [session.rawValue]),
                world.creation("f", of: [file.id.rawValue]),
            ]
            let receipt = try await store.commit(batch)
            #expect(receipt.conflicts == batch.creations.map { .creation(CreationKey($0)) })
            let contents = try await store.load()
            #expect(contents.sessions == [world.session(other)])
            #expect(contents.files == [kept])
            // Once the key is forgotten, it is free.
            var limits = RetentionLimits.none
            limits.creationsBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            #expect(try await store.commit(batch) == CommitReceipt())
            #expect(try await store.load().sessions.map(\.id).contains(session))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the first answer wins: nothing is written of what a later one has led to (S-74)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let tasks = (0..<2).map { _ in world.makeTask(in: session) }
            var batch = world.batch(session)
            batch.createdTasks = tasks
            var decisions = tasks.map { world.makeDecision(Question.all[0], of: $0) }
            batch.decisions = decisions
            try await store.commit(batch)
            batch = StoreBatch()
            decisions[0].state = .answered
            batch.decisions = [decisions[0]]
            batch.expectedStates = [decisions[0].id: .pending]
            #expect(try await store.commit(batch) == CommitReceipt())

            let running = tasks.map { $0.running(at: world.instant, isLive: true) }
            let (heir, next) = (world.makeTask(in: session), world.makeTask(in: session))
            let events = (running + [heir]).map { world.event(.didCreate, of: $0) }
            batch = world.batch(session)
            batch.createdTasks = [heir, next]
            batch.changedTasks = running
            batch.successors = [tasks[0].id: heir.id]
            batch.contents = (tasks + [heir]).map { ($0.id, [1]) }
            batch.events = events
            for index in decisions.indices { decisions[index].state = .expired }
            batch.decisions = decisions
            batch.expectedStates = [decisions[0].id: .pending, decisions[1].id: .pending]
            let receipt = try await store.commit(batch)
            #expect(receipt.conflicts == [.decision(decisions[0].id)])
            decisions[0].state = .answered
            for decision in decisions {
                #expect(try await store.decision(decision.id, of: World.alice) == decision)
            }
            #expect(try await store.task(tasks[0].id, of: World.alice) == tasks[0])
            #expect(try await store.task(tasks[1].id, of: World.alice) == running[1])
            #expect(try await store.task(heir.id, of: World.alice) == nil)
            #expect(try await store.task(next.id, of: World.alice) == next)
            for (task, content) in zip(tasks + [heir], [nil, [UInt8(1)], nil]) {
                #expect(try await store.content(of: task.id) == content)
            }
            let stream = EventQuery(stream: .session(session), after: 0, limit: 10)
            #expect(try await store.events(stream) == [events[1]])
            #expect(try await store.taskCounts(of: session) == [.suspended: 2, .running: 1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a decision is changed from the state that was expected only`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            let decision = world.makeDecision(Question.all[0], of: task)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            batch.decisions = [decision]
            try await store.commit(batch)
            for state in DecisionState.allCases {
                for expected in DecisionState.allCases {
                    var held = decision
                    held.state = state
                    batch = StoreBatch()
                    batch.decisions = [held]
                    #expect(try await store.commit(batch) == CommitReceipt())
                    var moved = held
                    moved.deadline = Timestamp(milliseconds: World.start + 77)
                    batch.decisions = [moved]
                    batch.expectedStates = [moved.id: expected]
                    let receipt = try await store.commit(batch)
                    #expect(receipt.conflicts == (state == expected ? [] : [.decision(moved.id)]))
                    let found = try await store.decision(decision.id, of: World.alice)
                    #expect(found == (state == expected ? moved : held))
                }
            }
            // One that is gone has no state.
            let unknown = world.makeDecision(Question.all[0], of: task)
            batch.decisions = [unknown]
            batch.expectedStates = [unknown.id: .pending]
            #expect(try await store.commit(batch).conflicts == [.decision(unknown.id)])
            #expect(try await store.decision(unknown.id, of: World.alice) == nil)
        }
    }
}
