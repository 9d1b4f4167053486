import Engine
import Foundation
import GRDB
import Sealing
import Semantics
import Testing

@testable import SQLiteStore

/// Security, §5: what is secret is not on the disk in clear, nor in base64, nor percent-encoded.
@Suite struct SecretTests {
    @Test func `no secret of a task, a session, an event or a content is in any file`() async throws
    {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var canaries = Canaries()
            func secret(_ name: String) -> String { canaries.next(name) }
            var world = World()
            var configuration = SessionConfiguration()
            configuration.httpAdditionalHeaders = ["authorization": secret("session")]
            let session = world.makeSession(configuration: configuration)
            let task = world.makeTask(
                in: session,
                request: RequestRecord(
                    url: .plain, method: "POST",
                    headers: [
                        "Authorization": secret("authorization"), "Cookie": secret("cookie"),
                        "Proxy-Authorization": secret("proxy"), "X-Key": secret("marked"),
                    ], sensitiveHeaders: ["x-key"],
                    body: .bytes(Array(secret("body").utf8))))
            var completed = task.completed(at: world.instant)
            completed.currentRequest.headers = ["Cookie": secret("redirected")]
            completed.currentRequest.body = .bytes(Array(secret("second body").utf8))
            completed.response?.headers = ["Set-Cookie": secret("response")]
            var early = ResponseRecord.plain
            early.headers = ["set-cookie": secret("early")]
            var batch = StoreBatch()
            batch.createdTasks = [task]
            batch.events = [
                world.event(.didCreate, of: task),
                world.event(
                    .didReceiveInformationalResponse(
                        status: 103, headers: ["Set-Cookie": secret("informational")]), of: task),
                world.event(.didReceiveResponse(early), of: task),
            ]
            batch.sessions = [world.session(session)]
            // A digest of a body: a short body can be guessed from it.
            batch.creations = [
                IdempotencyRecord(
                    tenant: World.alice, key: "k", fingerprint: Array(secret("fingerprint").utf8),
                    created: [task.id.rawValue], at: world.instant)
            ]
            try await store.commit(batch)
            batch = StoreBatch()
            batch.changedTasks = [completed]
            batch.contents = [(task.id, Array(secret("content").utf8))]
            try await store.commit(batch)
            #expect(try await store.task(task.id, of: World.alice) == completed)
            #expect(canaries.all.count == 13)
            #expect(try canaries.findings(in: folder).isEmpty)
            // The search finds what lies in clear.
            #expect(try Canaries(all: ["example.com"]).findings(in: folder) == ["example.com"])

            batch = StoreBatch()
            batch.removedTasks = [task.id]
            try await store.commit(batch)
            let left = try await store.pool.read { database in
                try Int.fetchOne(
                    database,
                    sql:
                        "SELECT (SELECT count(*) FROM content) + (SELECT count(*) FROM task_secret)"
                )
            }
            #expect(left == 0)
            try store.close()
            #expect(try canaries.findings(in: folder).isEmpty)
        }
    }

    @Test(arguments: [
        "UPDATE task_secret SET secret = (SELECT secret FROM task_status)",
        "UPDATE task_secret SET task = task + 1; UPDATE task SET id = id + 1",
        "UPDATE task SET tenant = 2",
        "UPDATE task_secret SET secret = substr(secret, 1, 40)",
        "UPDATE task_secret SET secret = x''",
    ])
    func `a sealed value that was moved or cut is damage`(sql: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(
                in: session, request: RequestRecord(url: .plain, headers: ["Cookie": "a=b"]))
            var completed = task.completed(at: world.instant)
            completed.response?.headers = ["Set-Cookie": "a=b"]
            var batch = world.batch(session)
            batch.createdTasks = [completed]
            try await store.commit(batch)
            try await store.pool.write { try $0.execute(sql: sql) }
            let error = await #expect(throws: StoreError.self) {
                for id in [task.id, TaskID(rawValue: task.id.rawValue + 1)] {
                    for tenant in [World.alice, World.bob] {
                        _ = try await store.task(id, of: tenant)
                    }
                }
            }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }
}
