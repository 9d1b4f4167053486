import Engine
import Foundation
import GRDB
import Records
import Semantics
import Testing

@testable import SQLiteStore

/// Decisions as rows of a database.
@Suite struct DecisionRowTests {
    @Test func `a decision that waits survives the process (S-56, S-74)`() async throws {
        try await withFolder { folder, sealer in
            var store = try DurableStore(folder: folder, sealer: sealer)
            let (batch, _) = Self.questions()
            try await store.commit(batch)
            for _ in 0..<2 {
                try store.close()
                store = try DurableStore(folder: folder, sealer: sealer)
                let contents = try await store.load()
                #expect(contents.pendingDecisions == batch.decisions)
                #expect(contents.lastIdentifier == batch.decisions.last?.id.rawValue)
                #expect(contents.sessions == batch.sessions)
                for task in batch.createdTasks {
                    #expect(try await store.task(task.id, of: World.alice) == task)
                }
            }
            // As a process leaves them that was killed.
            try await TemporaryFolder.with { copy in
                try FileManager.default.copyItem(atPath: folder, toPath: copy)
                let survivor = try DurableStore(folder: copy, sealer: sealer)
                #expect(try await survivor.load().pendingDecisions == batch.decisions)
            }
        }
    }

    @Test func `an answer does not write a long question again`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            let chain = (0..<16).map { CertificateRecord.certificate($0, pemLength: 4000) }
            let challenge = Challenge(
                .plain(.serverTrust), failureResponse: .cookie,
                serverTrust: ServerTrust(chain: chain, failures: []))
            var decision = world.makeDecision(
                Question(kind: .sessionChallenge) {
                    .didReceiveChallenge(challenge, decision: $0)
                }, of: task)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            batch.decisions = [decision]
            let empty = try logLength(folder)
            try await store.commit(batch)
            let asked = try logLength(folder)
            #expect(asked - empty > 16 * 4000)
            batch = StoreBatch()
            for state in [DecisionState.pending, .answered] {
                decision.deadline = Timestamp(milliseconds: World.start + 999_999)
                decision.state = state
                batch.decisions = [decision]
                try await store.commit(batch)
                #expect(try await store.decision(decision.id, of: World.alice) == decision)
            }
            let answered = try logLength(folder)
            // The row's first page, the index of those that wait, and that of a tenant's by state.
            #expect(answered > asked && answered - asked <= 2 * 3 * (8192 + 24))
        }
    }

    @Test func `rows go with their tasks, whatever takes those away`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            for step in 0..<3 {
                var (batch, world) = Self.questions()
                for index in batch.createdTasks.indices {
                    batch.createdTasks[index] = batch.createdTasks[index].completed(
                        at: world.instant)
                }
                let tasks = batch.createdTasks
                // What the events are told from stays.
                batch.events = tasks.map { world.event(.didComplete($0.error), of: $0) }
                try await store.commit(batch)
                #expect(try await rows("decision", of: store) == batch.decisions.count)
                #expect(try await rows("content", of: store) == tasks.count)
                var removal = StoreBatch()
                var limits = RetentionLimits.none
                limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
                switch step {
                case 0: removal.removedTasks = tasks.map(\.id)
                case 1: _ = try await store.purge(limits)
                default:
                    // Damage of a task does not keep its decisions.
                    try await store.pool.write { database in
                        try database.execute(sql: "UPDATE task_status SET status = x'0A7F'")
                    }
                    _ = try await store.purge(limits)
                }
                try await store.commit(removal)
                for table in ["decision", "content", "task_secret"] {
                    #expect(try await rows(table, of: store) == 0, "\(table) \(step)")
                }
                removal.removedTasks = []
                removal.removedSessions = batch.sessions.map(\.id)
                try await store.commit(removal)
                #expect(
                    try await store.load().lastIdentifier == batch.decisions.last?.id.rawValue)
            }
        }
    }

    @Test func `decisions are found by indexes (R-4)`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let plans = try await store.pool.read { database in
                try [
                    "SELECT question FROM decision WHERE state = 2 ORDER BY id",
                    "DELETE FROM decision WHERE task = 1",
                    """
                    DELETE FROM decision WHERE task IN (SELECT id FROM task WHERE session = 1)
                    """,
                ].map { sql in
                    try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql)
                        .map { $0["detail"] as String }.joined(separator: "; ")
                }
            }
            #expect(plans[0].contains("decision_pending") && !plans[0].contains("TEMP B-TREE"))
            #expect(plans[1].contains("decision_by_task"))
            #expect(plans[2].contains("decision_by_task"))
        }
    }

    @Test(arguments: [
        "UPDATE decision SET kind = 'odd'", "UPDATE decision SET state = 0",
        "UPDATE decision SET kind = 'cache' WHERE kind = 'redirect'",
        "UPDATE decision SET question = x''", "UPDATE decision SET question = x'02'",
        "UPDATE decision SET question = x'FF01'", "UPDATE decision SET question = x'0C'",
        "UPDATE decision SET question = substr(question, 1, 30)",
        "UPDATE decision SET secret = x''", "UPDATE decision SET tenant = 2",
        "UPDATE decision SET secret = substr(secret, 1, length(secret) - 1)",
        "UPDATE decision SET secret = (SELECT max(secret) FROM decision)",
        "UPDATE decision SET id = id + 1",
        "UPDATE decision SET secret = (SELECT secret FROM task_status WHERE secret IS NOT NULL)",
        "UPDATE session SET knownLeaves = x'05'", "UPDATE session SET knownLeaves = x'0209'",
    ])
    func `a damaged or moved row is left out of a start`(sql: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let (batch, _) = Self.questions()
            try await store.commit(batch)
            let before = try await store.load()
            try await store.pool.write { try $0.execute(sql: sql) }
            let contents = try await store.load()
            let isSession = sql.contains("session")
            #expect(
                isSession
                    ? contents.sessions.count < before.sessions.count
                    : contents.pendingDecisions.count < before.pendingDecisions.count)
        }
    }

    @Test func `one row that is damaged is told by itself, too`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let (batch, _) = Self.questions()
            try await store.commit(batch)
            let bad = batch.decisions[0]
            try await store.pool.write { database in
                try database.execute(
                    sql: "UPDATE decision SET question = x'0C', state = 3 WHERE id = ?",
                    arguments: [bad.id.rawValue])
            }
            await #expect(throws: StoreError.damaged("A stored record cannot be read.")) {
                try await store.decision(bad.id, of: World.alice)
            }
            // What does not wait any more does not keep the gateway from its start.
            #expect(
                try await store.load().pendingDecisions == Array(batch.decisions.dropFirst()))
        }
    }

    /// A task with a secret in its dialogue and one decision for each question that has a secret,
    /// and another task with all the other questions.
    private static func questions() -> (batch: StoreBatch, world: World) {
        var world = World()
        let session = world.makeSession()
        world.change(session) { session in
            session.knownLeaves = [
                KnownLeaf(host: "a", port: 1, fingerprint: [1], mustVerify: true)
            ]
        }
        var task = world.makeTask(in: session, request: .rich)
        task.dialogue.held = HeldResponse(.cookie, bodyLength: 4)
        task.dialogue.authentication.identity = .without
        let other = world.makeTask(in: session)
        var batch = StoreBatch()
        for question in Question.all {
            let notice = DecisionNotice(
                id: DecisionID(rawValue: 1), kind: question.kind, deadline: world.instant)
            var parts = RecordParts()
            EventCoding.write(question.event(notice), to: &parts)
            let owner = parts.secret.isEmpty ? other : task
            batch.decisions.append(world.makeDecision(question, of: owner))
        }
        batch.createdTasks = [task, other]
        batch.contents = [(task.id, [1, 2, 3, 4]), (other.id, [])]
        batch.sessions = [world.session(session)]
        batch.tenantSequences = world.tenantSequences
        return (batch, world)
    }

    private func rows(_ table: String, of store: DurableStore) async throws -> Int {
        try await store.pool.read { database in
            try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? -1
        }
    }

    private func logLength(_ folder: String) throws -> Int {
        let path = folder + "/" + DurableStore.fileName + "-wal"
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size]
        return try #require((size as? NSNumber)?.intValue)
    }
}
