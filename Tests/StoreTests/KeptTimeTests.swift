import Engine
import GRDB
import Semantics
import Testing

@testable import SQLiteStore

/// What stores remember of kept time.
@Suite struct KeptTimeTests {
    private let mark = ClockMark(
        kept: KeptTime(milliseconds: .max), wall: Timestamp(milliseconds: -1),
        machine: MachineTime(boot: "ü", elapsed: .milliseconds(123_456_789_012)))

    @Test(arguments: StoreKind.allCases)
    func `the newest mark of the clocks is what a start gets, and other batches leave it`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            #expect(try await store.load().clockMark == nil)
            var batch = StoreBatch()
            batch.clockMark = ClockMark(
                kept: KeptTime(milliseconds: 1), wall: mark.wall, machine: mark.machine)
            #expect(!batch.isEmpty)
            try await store.commit(batch)
            batch.clockMark = mark
            try await store.commit(batch)
            batch = StoreBatch()
            batch.gatewayLimit = .some(1)
            try await store.commit(batch)
            #expect(try await store.load().clockMark == mark)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `tasks and events go by kept time, whatever the wall clock showed (R-14, S-60, R-8)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            // Ended and told by a wall clock that stood a year too late, right, and a year too
            // early.
            let year: Int64 = 365 * 86_400_000
            var tasks: [TaskRecord] = []
            for (number, lead) in [year, 0, -year].enumerated() {
                var batch = StoreBatch()
                var task = world.makeTask(in: session).completed(
                    at: Timestamp(milliseconds: World.start + lead))
                task.keptSince = KeptTime(milliseconds: Int64(number))
                batch.createdTasks = [task]
                batch.events = [world.event(.didCreate, of: task)]
                batch.sessions = [world.session(session)]
                batch.keptAt = KeptTime(milliseconds: Int64(number))
                try await store.commit(batch)
                tasks.append(task)
            }
            // A change of what has ended does not make it younger.
            var batch = StoreBatch()
            batch.changedTasks = tasks
            batch.keptAt = KeptTime(milliseconds: 9)
            try await store.commit(batch)
            for number in 0...3 {
                var limits = RetentionLimits.none
                limits.tasksCompletedBefore = KeptTime(milliseconds: Int64(number))
                limits.eventsBefore = KeptTime(milliseconds: Int64(number))
                _ = try await store.purge(limits)
                let query = TaskQuery(tenant: World.alice, states: Set(TaskState.allCases))
                #expect(try await store.tasks(query).tasks == Array(tasks[number...]))
                let events = EventQuery(stream: .session(session), after: 0, limit: 9)
                #expect(try await store.events(events).map(\.task) == tasks[number...].map(\.id))
            }
        }
    }

    @Test func `a task of an earlier version is kept since its end by the wall clock`() async throws
    {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session).completed(at: world.instant)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            try await store.commit(batch)
            try await store.pool.write { database in
                try database.execute(sql: "UPDATE task_status SET keptSince = NULL")
            }
            #expect(try await store.task(task.id, of: World.alice) == task)
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = world.keptInstant
            _ = try await store.purge(limits)
            #expect(try await store.knows(task.id))
            limits.tasksCompletedBefore = world.keptInstant.advanced(by: .milliseconds(1))
            _ = try await store.purge(limits)
            #expect(try await !store.knows(task.id))
        }
    }
}
