import Engine
import Foundation
import GRDB
import Records
import Semantics
import TestSupport
import Testing

@testable import SQLiteStore

/// Lists and counts cost what they show, whatever the history is.
@Suite struct TaskIndexTests {
    @Test func `a page of a list is a range of an index, whatever is asked for`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            for state in TaskState.allCases {
                for inSession in [true, false] {
                    let plan = try await store.pool.read { database in
                        let page = TaskIndex.page(inSession: inSession, StoredState(state))
                            .replacing("?6", with: "1").replacing(
                                "?2", with: "\(StoredState(state).rawValue)"
                            )
                            .replacing(/\?\d/, with: "1")
                        return try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + page)
                            .map { $0["detail"] as String }
                    }
                    // Sorted by the index, and no row is looked at for its type.
                    #expect(plan.count == 1)
                    #expect(plan.first?.contains("type=? AND rowid>?") == true, "\(plan)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the census has every task of every tenant once, by state and type`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [
                world.makeSession(), world.makeSession(of: World.bob), world.makeSession(),
            ]
            var expected = TaskCensus()
            var batch = StoreBatch()
            var tasks: [TaskRecord] = []
            for index in 0..<60 {
                var task = world.makeTask(
                    in: sessions[index % 3], type: TaskType.allCases[index % 2])
                task.state = [.suspended, .running, .canceling][index % 5 % 3]
                tasks.append(task)
                batch.createdTasks.append(task)
                expected.outstanding[.init(task.state, task.type), default: 0] += 1
            }
            batch.sessions = sessions.map { world.session($0) }
            #expect(try await store.census() == TaskCensus())
            try await store.commit(batch)
            #expect(try await store.census() == expected)
            var change = StoreBatch()
            for task in tasks.prefix(7) {
                change.changedTasks.append(task.completed(at: world.instant))
                expected.outstanding[.init(task.state, task.type), default: 0] -= 1
                expected.completed += 1
            }
            try await store.commit(change)
            expected.outstanding = expected.outstanding.filter { $0.value > 0 }
            #expect(try await store.census() == expected)
            #expect(expected.count(.completed) == 7)
            #expect(TaskState.allCases.reduce(0) { $0 + expected.count($1) } == 60)
            var removal = StoreBatch()
            removal.removedTasks = [tasks[0].id]
            try await store.commit(removal)
            #expect(try await store.census().completed == 6)
        }
    }

    @Test func `tasks are counted as they come, change, and go`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let sessions = [world.makeSession(), world.makeSession()]
            var tasks: [TaskRecord] = []
            var batch = StoreBatch()
            for index in 0..<400 {
                var task = world.makeTask(in: sessions[index % 2])
                task.state = TaskState.allCases[index % 3]
                tasks.append(task)
                batch.createdTasks.append(task)
            }
            batch.sessions = world.batch(sessions[0]).sessions + world.batch(sessions[1]).sessions
            try await store.commit(batch)
            var change = StoreBatch()
            for index in stride(from: 0, to: 400, by: 5) {
                change.changedTasks.append(tasks[index].completed(at: world.instant))
            }
            change.changedTasks.append(tasks[1])
            change.removedTasks = stride(from: 0, to: 400, by: 25).map { tasks[$0].id }
            try await store.commit(change)
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = world.keptInstant
            for _ in 0..<2 {
                for session in sessions {
                    let counted = try await store.pool.read { database in
                        try Row.fetchAll(
                            database,
                            sql: """
                                SELECT state, count(*) AS count FROM task
                                WHERE session = ? AND state <> 6 GROUP BY state
                                """, arguments: [session.rawValue]
                        )
                        .map { "\($0["state"] as Int64): \($0["count"] as Int)" }
                    }
                    let kept = try await store.taskCounts(of: session)
                        .map { "\(StoredState($0.key).rawValue): \($0.value)" }
                    #expect(kept.sorted() == counted.sorted() && !kept.isEmpty)
                }
                _ = try await store.purge(limits)
            }
            var end = StoreBatch()
            end.removedSessions = [sessions[0]]
            try await store.commit(end)
            #expect(try await store.taskCounts(of: sessions[0]).isEmpty)
            #expect(
                try await store.pool.read {
                    try Int.fetchOne($0, sql: "SELECT count(*) FROM task_count")
                } == 4)
        }
    }
}
