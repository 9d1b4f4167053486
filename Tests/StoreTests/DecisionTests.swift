import Engine
import Semantics
import Testing

/// Decisions (§7), and how they stand; every store passes.
@Suite struct DecisionTests {
    @Test(arguments: StoreKind.allCases)
    func `a decision is read as it was asked, and as it stands`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            var decisions = Question.all.map { world.makeDecision($0, of: task) }
            batch.decisions = decisions
            try await store.commit(batch)
            for (index, decision) in decisions.enumerated() {
                #expect(try await store.decision(decision.id, of: World.alice) == decision)
                decisions[index].deadline = Timestamp(milliseconds: World.start + Int64(index))
                decisions[index].state = DecisionState.allCases[index % 4]
            }
            batch = StoreBatch()
            batch.decisions = decisions
            try await store.commit(batch)
            for decision in decisions {
                #expect(try await store.decision(decision.id, of: World.alice) == decision)
                // To another tenant it is not there.
                #expect(try await store.decision(decision.id, of: World.bob) == nil)
            }
            #expect(try await store.decision(DecisionID(rawValue: 1), of: World.alice) == nil)
            let kinds = Set(decisions.map(\.kind)), states = Set(decisions.map(\.state))
            #expect(kinds.count == DecisionKind.allCases.count)
            #expect(states.count == DecisionState.allCases.count)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `decisions that wait are loaded in the order of creation (S-74)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [world.makeSession(), world.makeSession(of: World.bob)]
            var batch = world.batch(sessions[0], sessions[1])
            var decisions: [DecisionRecord] = []
            for index in 0..<40 {
                let task = world.makeTask(in: sessions[index % 2])
                batch.createdTasks.append(task)
                let question = Question.all[index % Question.all.count]
                decisions.append(world.makeDecision(question, of: task))
            }
            batch.decisions = decisions.reversed()
            try await store.commit(batch)
            var contents = try await store.load()
            #expect(contents.pendingDecisions == decisions)
            #expect(contents.lastIdentifier == decisions.last?.id.rawValue)
            // A restart moves deadlines (S-56); what has an answer waits no longer.
            for index in decisions.indices {
                decisions[index].deadline = Timestamp(milliseconds: World.start + 1_000_000)
                decisions[index].state = DecisionState.allCases[index % 4]
            }
            batch = StoreBatch()
            batch.decisions = decisions
            try await store.commit(batch)
            contents = try await store.load()
            #expect(contents.pendingDecisions == decisions.filter { $0.state == .pending })
            #expect(contents.pendingDecisions.count == 10)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `decisions go with their task, and their numbers are not given again`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let other = world.makeSession()
            let removed = world.makeTask(in: session)
            let old = world.makeTask(in: session).completed(at: world.instant)
            let ofOther = world.makeTask(in: other)
            let kept = world.makeTask(in: session)
            let question = Question.all[0]
            var decisions: [TaskID: [DecisionRecord]] = [:]
            for task in [kept, removed, old, ofOther] {
                decisions[task.id] = (0..<3).map { _ in world.makeDecision(question, of: task) }
            }
            var batch = world.batch(session, other)
            batch.createdTasks = [removed, old, ofOther, kept]
            batch.decisions = decisions.values.flatMap(\.self)
            try await store.commit(batch)
            let newest = batch.decisions.map(\.id.rawValue).max()

            func left() async throws -> Set<TaskID> {
                var found: Set<TaskID> = []
                for (task, decisions) in decisions {
                    for decision in decisions
                    where try await store.decision(decision.id, of: World.alice) != nil {
                        found.insert(task)
                    }
                }
                let pending = try await store.load().pendingDecisions
                #expect(Set(pending.map(\.task)) == found && pending.count == 3 * found.count)
                return found
            }
            #expect(try await left() == [kept.id, removed.id, old.id, ofOther.id])
            batch = StoreBatch()
            batch.removedTasks = [removed.id]
            try await store.commit(batch)
            #expect(try await left() == [kept.id, old.id, ofOther.id])
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            #expect(try await left() == [kept.id, ofOther.id])
            batch = StoreBatch()
            batch.removedSessions = [other]
            try await store.commit(batch)
            #expect(try await left() == [kept.id])
            #expect(try await store.load().lastIdentifier == newest)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `nothing is kept of a task that is gone already`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            var batch = StoreBatch()
            batch.createdTasks = [task]
            // An event keeps what is left of the task in the store.
            batch.events = [world.event(.didCreate, of: task)]
            batch.sessions = [world.session(session)]
            try await store.commit(batch)
            var late = StoreBatch()
            let decision = world.makeDecision(Question.all[0], of: task)
            late.decisions = [decision]
            late.contents = [(task.id, [1])]
            late.removedTasks = [task.id]
            try await store.commit(late)
            late.removedTasks = []
            try await store.commit(late)
            #expect(try await store.decision(decision.id, of: World.alice) == nil)
            #expect(try await store.load().pendingDecisions.isEmpty)
            #expect(try await store.content(of: task.id) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a question's number counts as long as nobody else may have it`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            for (index, question) in Question.all.enumerated() {
                let decision = world.makeDecision(question, of: task)
                var batch = StoreBatch()
                if index == 0 { batch.createdTasks = [task] }
                batch.events = [world.event(decision.question, of: task)]
                batch.sessions = [world.session(session)]
                try await store.commit(batch)
                #expect(try await store.load().lastIdentifier == decision.id.rawValue)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a held body is read, dropped, and given way to a new one (S-66)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var tasks = [world.makeTask(in: session), world.makeTask(in: session)]
            var batch = world.batch(session)
            for index in tasks.indices {
                tasks[index].dialogue.held = HeldResponse(.plain, bodyLength: 3)
            }
            batch.createdTasks = tasks
            batch.contents = tasks.map { ($0.id, [1, 2, 3]) }
            try await store.commit(batch)
            for task in tasks {
                #expect(try await store.task(task.id, of: World.alice) == task)
                #expect(try await store.content(of: task.id) == [1, 2, 3])
            }
            batch = StoreBatch()
            batch.removedContents = tasks.map(\.id) + [TaskID(rawValue: 1)]
            batch.contents = [(tasks[0].id, [4])]
            try await store.commit(batch)
            #expect(try await store.content(of: tasks[0].id) == [4])
            #expect(try await store.content(of: tasks[1].id) == nil)
            batch = StoreBatch()
            batch.removedContents = [tasks[0].id]
            try await store.commit(batch)
            #expect(try await store.content(of: tasks[0].id) == nil)
        }
    }
}
