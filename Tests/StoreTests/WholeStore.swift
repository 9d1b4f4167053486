import Foundation
import GRDB
import Sealing
import Semantics

@testable import Engine
@testable import SQLiteStore

/// A database with something in every table and every sealed column.
struct WholeStore {
    /// All that a store tells of it.
    struct Contents: Equatable {
        var sessions: [SessionRecord] = []
        var tasks: [TaskRecord] = []
        var contents: [[UInt8]?] = []
        var decisions: [DecisionRecord?] = []
        var creations: [IdempotencyRecord?] = []
        var files: [StagedFile] = []
        var events: [Event] = []
        var cookies: [SessionID: [Cookie]] = [:]
        var credentials: [SessionID: [Int64: StoredCredential]] = [:]
        /// Without the fingerprints, which are another key's other ones.
        var caches: [[KeptResponse]] = []
        /// Whether the fingerprints are those of the key.
        var areKeyed = true
        var webhooks: [WebhookRecord] = []
        var tenants: [TenantRecord] = []
        var tokens: [TokenRecord] = []
        var lastIdentifier: Int64 = 0
    }

    private(set) var batches: [StoreBatch]
    private(set) var sessions: [SessionID]
    private(set) var tasks: [TaskRecord]
    /// Of the last of `tasks`.
    let resumeData = ResumeData(
        request: RequestRecord(url: .plain, headers: ["Cookie": "a=b"], timeoutInterval: 0.5),
        checkpoint: .plain(part: TaskID(rawValue: 7)))

    init(sealer: any Sealer) throws {
        var world = World()
        var configuration = SessionConfiguration()
        configuration.httpAdditionalHeaders = ["Authorization": "Basic eA=="]
        sessions = [
            world.makeSession(configuration: configuration), world.makeSession(of: World.bob),
        ]
        tasks = []
        batches = []
        for session in sessions {
            var batch = StoreBatch()
            for (created, changed) in try world.variety(in: session) {
                batch.createdTasks.append(created)
                tasks.append(changed)
            }
            let task = batch.createdTasks[0]
            batch.decisions = Question.all.map { world.makeDecision($0, of: task) }
            batch.events = batch.decisions.map { world.event($0.question, of: task) }
            batch.events += batch.createdTasks.map { world.event(.didCreate, of: $0) }
            batch.contents = batch.createdTasks.prefix(3).map { ($0.id, [1, 2, 3]) }
            batch.creations = [
                world.creation("ü", of: [1], tenant: world.session(session).tenant),
                world.creation("", of: [1], tenant: world.session(session).tenant),
            ]
            batch.files = [world.makeFile(of: world.session(session).tenant)]
            batch.cookies = [world.jar(session, storing: world.cookies())]
            batch.credentials = [world.shelf(session, storing: world.credentials())]
            batch.cacheEntries = world.responses(in: session).map { $0.keyed(by: sealer) }
            batch.webhooks = [
                world.makeWebhook(of: world.session(session).tenant, session: session)
            ]
            batch.tenants = [world.makeTenant(world.session(session).tenant)]
            batch.tokens = [world.makeToken(of: world.session(session).tenant)]
            batch.sessions = [world.session(session)]
            batch.tenantSequences = world.tenantSequences
            batches.append(batch)
        }
        var changes = StoreBatch()
        changes.changedTasks = tasks
        batches.append(changes)
        try fail(&world, sealer)
        // What is left of a task that was forgotten: its response set a cookie.
        var gone = world.makeTask(in: sessions[0], request: .rich).completed(at: world.instant)
        gone.response = .cookie
        var batch = StoreBatch()
        batch.createdTasks = [gone]
        batch.contents = [(gone.id, Array(repeating: 7, count: 10_000))]
        batch.events = [
            world.event(.didReceiveResponse(.cookie), of: gone),
            world.event(.didComplete(nil), of: gone),
        ]
        batch.sessions = [world.session(sessions[0])]
        batches.append(batch)
        batch = StoreBatch()
        batch.removedTasks = [gone.id]
        batches.append(batch)
    }

    /// A download that has failed with resume data, told by an event that is stored with them and
    /// by one that is not.
    private mutating func fail(_ world: inout World, _ sealer: any Sealer) throws {
        let blob = try resumeData.sealed(by: sealer, for: World.alice)
        let failed = world.makeTask(in: sessions[0], type: .download).completed(
            at: world.instant,
            error: TransferError.url(.networkConnectionLost).adding(
                .string(blob), for: TransferError.resumeDataKey))
        var batch = StoreBatch()
        batch.createdTasks = [failed]
        batch.events = [world.event(.didComplete(failed.error), of: failed)]
        batches.append(batch)
        tasks.append(failed)
        batch = StoreBatch()
        batch.events = [world.event(.didComplete(failed.error), of: failed)]
        batch.sessions = [world.session(sessions[0])]
        batches.append(batch)
    }

    /// Writes all of it to a new database.
    func write(to folder: String, _ sealer: any Sealer) async throws {
        let store = try DurableStore(folder: folder, sealer: sealer)
        for batch in batches { try await store.commit(batch) }
        try store.close()
    }

    /// Reads all of it; the resume data in errors are told by what is in them.
    func read(_ folder: String, _ sealer: any Sealer) async throws -> Contents {
        let store = try DurableStore(folder: folder, sealer: sealer)
        let contents = try await read(store, sealer)
        try store.close()
        return contents
    }

    /// Reads all of it from a store that is open.
    func read(_ store: any Store, _ sealer: any Sealer) async throws -> Contents {
        var contents = Contents()
        let loaded = try await store.load()
        contents.sessions = loaded.sessions
        contents.files = loaded.files
        contents.cookies = loaded.cookies.mapValues { $0.sorted { $0.sequence < $1.sequence } }
        contents.credentials = loaded.credentials
        contents.webhooks = loaded.webhooks
        contents.tenants = loaded.tenants
        contents.tokens = loaded.tokens
        contents.lastIdentifier = loaded.lastIdentifier
        for task in tasks {
            guard var found = try await store.task(task.id, of: task.tenant) else { continue }
            found.error = try found.error.map { try opened($0, sealer) }
            contents.tasks.append(found)
            contents.contents.append(try await store.content(of: task.id))
        }
        for decision in batches.flatMap(\.decisions) {
            contents.decisions.append(try await store.decision(decision.id, of: decision.tenant))
        }
        for creation in batches.flatMap(\.creations) {
            contents.creations.append(
                try await store.creation(of: creation.key, of: creation.tenant))
        }
        for session in sessions {
            let cache = try await store.cache(of: session)
            contents.caches.append(
                cache.map { KeptResponse($0.entry, under: 0, content: $0.content) })
            contents.areKeyed = contents.areKeyed && cache == cache.map { $0.keyed(by: sealer) }
            let query = EventQuery(stream: .session(session), after: 0, limit: 1000)
            contents.events += try await store.events(query).map { event in
                guard case .didComplete(let error?) = event.body else { return event }
                return Event(
                    tenant: event.tenant, session: event.session, sequence: event.sequence,
                    tenantSequence: event.tenantSequence, task: event.task, at: event.at,
                    body: .didComplete(try opened(error, sealer)))
            }
        }
        return contents
    }

    /// The error with what its resume data are in their place.
    private func opened(_ error: TransferError, _ sealer: any Sealer) throws -> TransferError {
        guard case .string(let blob) = error.userInfo[TransferError.resumeDataKey] else {
            return error
        }
        let data = ResumeData(blob, openedBy: sealer, for: World.alice) { _ in .plain }
        return error.adding(
            .string(data == resumeData ? "open" : "closed"), for: TransferError.resumeDataKey)
    }

    /// Every sealed value that has a column, as it lies there; and where it lies.
    static func sealedValues(in folder: String) throws -> [String: [Data]] {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(
            path: folder + "/" + DurableStore.fileName, configuration: configuration)
        return try queue.read { database in
            var values: [String: [Data]] = [:]
            for (table, column) in [
                ("gateway", "keyCheck"), ("session", "secret"),
                ("task_secret", "secret"), ("task_status", "secret"), ("content", "bytes"),
                ("creation", "fingerprint"), ("webhook", "secret"), ("decision", "secret"),
                ("cookie", "sealed"),
                ("credential", "sealed"), ("cache_metadata", "metadata"),
                ("cache_content", "bytes"),
            ] {
                values["\(table).\(column)"] = try Data.fetchAll(
                    database, sql: "SELECT \(column) FROM \(table) WHERE \(column) IS NOT NULL")
            }
            return values
        }
    }
}

extension KeptResponse {
    /// The same under the fingerprint that it has with a key.
    func keyed(by sealer: any Sealer) -> KeptResponse {
        let fingerprint = entry.response.key.fingerprint(
            in: entry.session, of: entry.tenant, by: sealer)
        return KeptResponse(entry, under: fingerprint, content: content)
    }
}
