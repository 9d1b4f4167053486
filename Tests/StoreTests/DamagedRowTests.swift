import Engine
import GRDB
import Semantics
import Testing

@testable import SQLiteStore

/// A row that is damaged costs itself.
@Suite struct DamagedRowTests {
    @Test func `a damaged staged file is left out of a start, and the others are there`()
        async throws
    {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            var batch = StoreBatch()
            batch.files = (0..<3).map { _ in world.makeFile() }
            try await store.commit(batch)
            let files = batch.files
            try await store.pool.write {
                try $0.execute(
                    sql: "UPDATE file SET expectedDigest = 'odd' WHERE id = ?",
                    arguments: [files[1].id.rawValue])
            }
            let contents = try await store.load()
            #expect(contents.files == [files[0], files[2]])
            #expect(contents.damagedFiles == [files[1].id: World.alice])
        }
    }

    /// The limit also counts what the test waits for others.
    @Test(.timeLimit(.minutes(5)))
    func `what was left of tasks that are gone is swept up, however much it is`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            // As changes that came late have left it.
            try await store.pool.write { database in
                for number in 1...1200 {
                    try database.execute(
                        sql: """
                            INSERT INTO task_status (task, completedAt, status) VALUES (?1, 1, x'');
                            INSERT INTO task_metadata (tenant, key, value, task)
                            VALUES (1, 'job', '1', ?1);
                            """, arguments: [number, number])
                }
            }
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: 2)
            #expect(try await store.purge(limits).files.isEmpty)
            for table in ["task_status", "task_metadata"] {
                let count = try await store.pool.read {
                    try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)")
                }
                #expect(count == 0, "\(table)")
            }
        }
    }

    @Test func `damaged decisions and deliveries end no list of the others`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let pages = DamagedPages()
            try await store.commit(pages.batch)
            let (deliveries, decisions) = (pages.damagedDeliveries, pages.damagedDecisions)
            try await store.pool.write { database in
                for position in deliveries {
                    try database.execute(
                        sql: "UPDATE delivery SET delivery = x'FF' WHERE position = ?",
                        arguments: [position])
                }
                for decision in decisions {
                    try database.execute(
                        sql: "UPDATE decision SET question = x'FF01' WHERE id = ?",
                        arguments: [decision])
                }
            }
            try await pages.verify(store)
        }
    }

    @Test func `what is damaged goes with a commit that goes well`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let whole = try WholeStore(sealer: sealer)
            for batch in whole.batches { try await store.commit(batch) }
            try await store.pool.write {
                try $0.execute(sql: "UPDATE cookie SET sealed = x'00'")
            }
            #expect(try await store.load().cookies.isEmpty)
            let pages = { @Sendable (limit: Int) in
                _ = try await store.pool.writeWithoutTransaction {
                    try Int.fetchOne($0, sql: "PRAGMA max_page_count = \(limit)")
                }
            }
            try await pages(1)
            var world = World()
            // Others than those that there are.
            for _ in 0..<100_000 { _ = world.nextIdentifier() }
            let session = world.makeSession()
            var batch = world.batch(session)
            for _ in 0..<100 {
                let task = world.makeTask(in: session)
                batch.createdTasks.append(task)
                batch.contents.append((task.id, [UInt8](repeating: 1, count: 10_000)))
            }
            await #expect(throws: StoreError.full) { try await store.commit(batch) }
            try await pages(1 << 30)
            try await store.commit(batch)
            let count = try await store.pool.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie")
            }
            #expect(count == 0)
        }
    }

    @Test(arguments: [
        "UPDATE tenant SET lastSequence = 'odd'", "UPDATE tenant SET lastSequence = 1",
        "DELETE FROM tenant", "UPDATE session SET lastSequence = 'odd'",
    ])
    func `a damaged counter gives no number twice (S-8)`(sql: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            let before = try await store.load()
            try await store.pool.write { try $0.execute(sql: sql) }
            let after = try await store.load()
            #expect(after.tenantSequences == before.tenantSequences)
            #expect(after.sessions.map(\.lastSequence) == before.sessions.map(\.lastSequence))
        }
    }

    @Test(arguments: [
        "UPDATE task SET request = x'FFFF'", "UPDATE task_status SET status = x'0A7F'",
    ])
    func `a damaged task can be removed`(sql: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            try await store.pool.write { try $0.execute(sql: sql) }
            var batch = StoreBatch()
            batch.removedTasks = history.tasks.map(\.id)
            try await store.commit(batch)
            for task in history.tasks { #expect(try await !store.knows(task.id)) }
        }
    }
}

/// Ten deliveries of a webhook and ten decisions, of which pages have some that cannot be read.
struct DamagedPages {
    private let webhook: WebhookRecord
    private let decisions: [DecisionRecord]
    let batch: StoreBatch
    /// Whole pages of two, and more.
    let damagedDeliveries: [Int64] = [10, 9, 8, 5, 2, 1]
    let damagedDecisions: [Int64]

    init() {
        var world = World()
        let session = world.makeSession()
        webhook = world.makeWebhook()
        var batch = world.batch(session)
        batch.webhooks = [webhook]
        let webhook = webhook
        batch.deliveries = (1...10).map { world.delivery($0, by: webhook) }
        for index in 0..<10 {
            let task = world.makeTask(in: session)
            batch.createdTasks.append(task)
            var decision = world.makeDecision(Question.all[0], of: task)
            if index % 2 == 0 { decision.state = .answered }
            batch.decisions.append(decision)
        }
        batch.sessions = [world.session(session)]
        self.batch = batch
        decisions = batch.decisions
        damagedDecisions = [0, 1, 2, 5, 8, 9].map { batch.decisions[$0].id.rawValue }
    }

    /// All others are found, page by page.
    func verify(_ store: any Store) async throws {
        var query = DeliveryQuery(webhook: webhook.id, limit: 2)
        var positions: [Int64] = []
        while true {
            let page = try await store.deliveries(query)
            positions += page.deliveries.map(\.position)
            guard let next = page.next else { break }
            #expect(next < query.before)
            query.before = next
        }
        #expect(positions == [7, 6, 4, 3])
        var wanted = DecisionQuery(
            tenant: World.alice, states: Set(DecisionState.allCases), limit: 2)
        var found: [DecisionRecord] = []
        while true {
            let page = try await store.decisions(wanted)
            found += page.decisions
            guard let next = page.next else { break }
            #expect(next.rawValue > wanted.after?.rawValue ?? 0)
            wanted.after = next
        }
        #expect(found == [3, 4, 6, 7].map { decisions[$0] })
    }
}
