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
                    created: [task.id.rawValue], at: world.keptInstant)
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

    @Test func `nothing of a cookie, a credential or a stored response is in any file`()
        async throws
    {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var canaries = Canaries()
            func secret(_ name: String) -> String { canaries.next(name) }
            var world = World()
            let session = world.makeSession()
            var batch = world.batch(session)
            let cookie = Cookie(
                name: secret("name"), value: secret("value"), domain: secret("domain"),
                path: "/" + secret("path"), creationTime: world.instant, sequence: 1)
            batch.cookies = [world.jar(session, storing: [cookie])]
            let proofs: [Credential.Proof] = [
                .password(user: secret("user"), password: secret("password")),
                .identity(.pem(certificate: secret("certificate"), key: secret("key"))),
                .identity(
                    .pkcs12(bytes: Array(secret("file").utf8), passphrase: secret("passphrase"))),
            ]
            let credentials = proofs.map { proof in
                StoredCredential(
                    space: ProtectionSpace(
                        host: secret("host"), port: 443, scheme: "https", realm: secret("realm"),
                        method: .basic),
                    credential: Credential(proof, persistence: .permanent), isDefault: true)
            }
            batch.credentials = [world.shelf(session, storing: credentials)]
            let response = StoredResponse(
                id: world.nextIdentifier(),
                key: CacheKey(stored: "https://example.com/\(secret("path"))?q=\(secret("query"))"),
                selecting: SelectingFields(stored: [
                    .init(name: "authorization", value: secret("authorization"))
                ]), status: 200, httpVersion: "2",
                headers: ["Set-Cookie": secret("set"), "X": secret("header")],
                requestTime: world.instant, responseTime: world.instant, length: 45,
                isDecoded: false)
            let content = Array(secret("content").utf8)
            let entry = CachedEntry(
                session: session, tenant: World.alice, response: response, place: .file,
                userInfo: [secret("info"): secret("more")], usedAt: world.instant)
            batch.cacheEntries = [KeptResponse(entry, content: content)]
            try await store.commit(batch)
            #expect(try await store.load().jar(of: session) == [cookie])
            #expect(try await store.load().credentials[session]?[3] == credentials[2])
            #expect(try await store.cache(of: session) == batch.cacheEntries)
            #expect(canaries.all.count == 24)
            #expect(try canaries.findings(in: folder).isEmpty)
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
