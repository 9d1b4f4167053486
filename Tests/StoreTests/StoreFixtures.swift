import Engine
import Foundation
import PostgresStore
import SQLiteStore
import Sealing
import Semantics
import TestSupport
import Testing

/// The stores that must behave alike.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case memory, durable, postgres

    /// Those that there are on this machine.
    static let allCases: [StoreKind] =
        PostgresServer.isInstalled ? [.memory, .durable, .postgres] : [.memory, .durable]

    var testDescription: String { rawValue }

    /// A new, empty store in a folder of its own, removed afterwards.
    func withStore(_ body: (any Store) async throws -> Void) async throws {
        switch self {
        case .memory: try await body(MemoryStore())
        case .durable:
            try await TemporaryFolder.with { folder in
                let store = try DurableStore(folder: folder, sealer: AESGCMSealer(key: DataKey()))
                try await body(store)
                try store.close()
            }
        case .postgres:
            try await TemporarySchema.with { url in
                let store = try PostgresStore(url: url, sealer: AESGCMSealer(key: DataKey()))
                try await body(store)
                await store.close()
            }
        }
    }
}

extension Store {
    /// What one call has forgotten.
    func purge(_ limits: RetentionLimits) async throws(StoreError) -> Forgotten {
        var forgotten = Forgotten()
        try await purge(limits, into: &forgotten)
        return forgotten
    }

    /// The same of a tenant.
    func forget(_ tenant: TenantID) async throws(StoreError) -> Forgotten {
        var forgotten = Forgotten()
        try await forget(tenant, into: &forgotten)
        return forgotten
    }
}

enum TemporarySchema {
    /// Runs the body with the address of a schema that is empty.
    static func with(_ body: (String) async throws -> Void) async throws {
        let server = try await PostgresServer.shared()
        let schema = server.newSchema()
        try await server.run("CREATE SCHEMA \(schema)")
        try await body(server.url(schema: schema))
        try await server.run("DROP SCHEMA \(schema) CASCADE")
    }
}

enum TemporaryFolder {
    /// Runs the body with the path of a folder that does not exist yet.
    static func with(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("ferry-store-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }
}

/// Makes records and events with ids and sequences in the engine's way.
struct World {
    static let start: Int64 = 1_790_000_000_000

    private(set) var sessions: [SessionID: SessionRecord] = [:]
    private(set) var tenantSequences: [TenantID: Int64] = [:]
    private var lastIdentifier: Int64 = start * 1000
    private var now: Int64 = start

    static let alice = TenantID(rawValue: 1)
    static let bob = TenantID(rawValue: 2)

    mutating func nextIdentifier() -> Int64 {
        lastIdentifier += 7
        return lastIdentifier
    }

    mutating func tick(milliseconds: Int64 = 1) { now += milliseconds }

    var instant: Timestamp { Timestamp(milliseconds: now) }
    var keptInstant: KeptTime { KeptTime(milliseconds: now) }

    mutating func makeSession(
        of tenant: TenantID = alice, type: SessionType = .default,
        configuration: SessionConfiguration = SessionConfiguration(),
        delegate: DelegateOptions? = nil
    ) -> SessionID {
        let id = SessionID(rawValue: nextIdentifier())
        sessions[id] = SessionRecord(
            id: id, tenant: tenant, type: type, description: nil, configuration: configuration,
            delegate: delegate, createdAt: instant)
        return id
    }

    func session(_ id: SessionID) -> SessionRecord {
        guard let session = sessions[id] else { preconditionFailure("no such session") }
        return session
    }

    mutating func change(_ id: SessionID, _ body: (inout SessionRecord) -> Void) {
        var session = session(id)
        body(&session)
        sessions[id] = session
    }

    mutating func makeTask(
        in session: SessionID, request: RequestRecord = .plain,
        options: TaskOptions = TaskOptions(),
        type: TaskType = .data
    ) -> TaskRecord {
        tick()
        let number = self.session(session).lastTaskNumber + 1
        change(session) { $0.lastTaskNumber = number }
        return TaskRecord(
            id: TaskID(rawValue: nextIdentifier()), tenant: self.session(session).tenant,
            session: session, number: number, type: type, options: options, request: request,
            createdAt: instant)
    }

    /// A staged file of which nothing is there yet.
    mutating func makeFile(
        of tenant: TenantID = alice, announcedLength: Int64? = nil,
        expectedDigest: ContentDigest? = nil, mediaType: String? = nil
    ) -> StagedFile {
        tick()
        return StagedFile(
            id: FileID(rawValue: nextIdentifier()), tenant: tenant,
            announcedLength: announcedLength, expectedDigest: expectedDigest, mediaType: mediaType,
            createdAt: instant, usedAt: keptInstant)
    }

    /// What a request with this key has created, now.
    func creation(
        _ key: String, of created: [Int64], tenant: TenantID = alice
    ) -> IdempotencyRecord {
        IdempotencyRecord(
            tenant: tenant, key: key, fingerprint: Array(key.utf8.prefix(32)), created: created,
            at: keptInstant)
    }

    /// A tenant with something of everything.
    func makeTenant(_ id: TenantID) -> TenantRecord {
        var egress = EgressNarrowing()
        egress.allowedHosts = ["*.example.com", "intranet"].compactMap(HostPattern.init)
        egress.deniedHosts = ["bad.example.com"].compactMap(HostPattern.init)
        egress.allowedAddresses = []
        egress.deniedAddresses = [try? AllowedDestination(parsing: "10.0.0.0/8:443")]
            .compactMap { $0 }
        return TenantRecord(
            id: id, name: "tenant-\(id.rawValue)", description: "ü",
            quotas: TenantQuotas([.sessions: 1, .bytesPerSecond: 1 << 50]), egress: egress,
            taskRetention: .seconds(60), createdAt: instant)
    }

    /// A token that nobody has used, its number being its digest.
    mutating func makeToken(
        of tenant: TenantID = alice, scopes: Set<Scope> = [.read, .tasks]
    ) -> TokenRecord {
        tick()
        let number = nextIdentifier()
        return TokenRecord(
            id: TokenID(rawValue: number), tenant: tenant,
            digest: Array(repeating: UInt8(truncatingIfNeeded: number), count: 32), scopes: scopes,
            createdAt: instant, expiresAt: instant.advanced(by: .seconds(60)), description: "ü")
    }

    mutating func event(
        _ body: EventBody, of task: TaskRecord
    ) -> Event {
        event(body, of: task.id, in: task.session)
    }

    mutating func event(_ body: EventBody, of task: TaskID?, in session: SessionID) -> Event {
        let tenant = self.session(session).tenant
        let sequence = self.session(session).lastSequence + 1
        change(session) { $0.lastSequence = sequence }
        tenantSequences[tenant, default: 0] += 1
        return Event(
            tenant: tenant, session: session, sequence: sequence,
            tenantSequence: tenantSequences[tenant] ?? 0, task: task, at: instant, body: body)
    }

    /// A batch with the records of these sessions as they are now.
    func batch(_ sessions: SessionID...) -> StoreBatch {
        var batch = StoreBatch()
        batch.sessions = sessions.map(session)
        batch.tenantSequences = tenantSequences
        batch.keptAt = keptInstant
        return batch
    }
}

extension TaskRecord {
    /// The task as it is once it has been resumed.
    func running(at instant: Timestamp, isLive: Bool) -> TaskRecord {
        var task = self
        task.state = .running
        task.suspendCount = 0
        task.startedAt = instant
        task.hasLiveAttempt = isLive
        return task
    }

    /// The task as it is at the end of a plain transfer.
    func completed(at instant: Timestamp, error: TransferError? = nil) -> TaskRecord {
        var task = self
        task.state = .completed
        task.suspendCount = 0
        task.startedAt = self.createdAt
        task.completedAt = instant
        task.keptSince = KeptTime(milliseconds: instant.milliseconds)
        task.hasLiveAttempt = false
        task.response = .plain
        task.error = error
        task.metrics = .plain
        task.countOfBytesReceived = 12
        task.countOfBytesExpectedToReceive = 12
        task.content = ContentRecord(length: 12, place: .store, digest: nil, lengthVerified: true)
        return task
    }
}

extension WebURL {
    static let plain = WebURL(
        string: "https://example.com/a/b?c=d", scheme: "https", host: "example.com", port: 443,
        path: "/a/b", query: "c=d")
}

extension RequestRecord {
    static let plain = RequestRecord(url: .plain, headers: ["Accept": "*/*"])
}

extension ResponseRecord {
    static let plain = ResponseRecord(
        url: WebURL.plain.string, status: 200, httpVersion: "1.1",
        headers: ["Content-Type": "text/plain", "Content-Length": "12"], expectedContentLength: 12,
        mimeType: "text/plain", textEncodingName: "utf-8", suggestedFilename: "b.txt")
}

extension DownloadCheckpoint {
    /// Two ranges of an entity with a strong tag.
    static func plain(part: TaskID) -> DownloadCheckpoint {
        checkpoint(
            tag: "\"v1\"", date: "Sun, 06 Nov 1994 08:49:37 GMT", total: 1 << 40,
            received: [0..<65_536, 1 << 30..<1 << 31], part: part)
    }

    /// A checkpoint from its parts, which must be in the form that they must have.
    static func checkpoint(
        tag: String?, date: String?, total: Int64?, received: [Range<Int64>], part: TaskID,
        series: Int64? = nil
    ) -> DownloadCheckpoint {
        let validators = EntityValidators(tag: tag.flatMap(EntityTag.init), date: date)
        guard let entity = RangedEntity(validators: validators, total: total),
            let point = ResumePoint(entity: entity, received: received)
        else { preconditionFailure("not in the form that a checkpoint must have") }
        return DownloadCheckpoint(point: point, part: part, series: series)
    }
}

extension TaskMetrics {
    static let plain: TaskMetrics = {
        var transaction = TransactionMetrics()
        transaction.url = WebURL.plain.string
        transaction.method = "GET"
        transaction.status = 200
        transaction.fetchStart = World.start * 1000
        transaction.domainLookupStart = World.start * 1000 + 5
        transaction.responseEnd = World.start * 1000 + 4000
        transaction.networkProtocolName = "http/1.1"
        transaction.remoteAddress = "192.0.2.1"
        transaction.remotePort = 443
        var metrics = TaskMetrics()
        metrics.transactions = [transaction]
        return metrics
    }()
}
