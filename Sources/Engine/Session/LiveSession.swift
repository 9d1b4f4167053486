internal import Loop
internal import Semantics

/// A session in memory: its record, what it remembers, its queue and its connections.
@LoopActor
final class LiveSession {
    /// What is known of it; the store is behind.
    private var state: Acknowledged<SessionRecord>
    private var home: (commits: CommitQueue, isElsewhere: Bool)
    let queue: SlotQueue
    /// What it takes of its tenant's quotas.
    let account: SessionAccount
    /// Contents of an ephemeral session that are too large for memory: parts of a file without a
    /// name.
    var unnamedFiles: [TaskID: ContentFile] = [:]
    /// The parts of an ephemeral session's downloads that ended early, for resume data (S-34).
    private var keptParts: [(task: TaskID, file: ContentFile, length: Int64)] = []
    /// Each takes room on the disk.
    private static let keptPartLimit = 64
    /// The limit that all its tasks share.
    let bandwidth: Bandwidth
    /// Where which of its credentials go unasked.
    let accepted = AcceptedCredentials()
    let nonces: DigestNonces
    private let memory: SessionMemory
    private let clock: any Clock
    /// The number of the newest task with which the session has run dry, and told so (S-54).
    var finishedThrough = 0
    /// Those who ask whether a server is to be trusted.
    let trust = TrustQuestions()
    /// What connections are made by, and where they may lead.
    private let network: (transport: any Transport, egress: TenantEgress)
    private var connections: (any ConnectionPool)?

    /// A session as the store has it, or one that is new to it, and is recorded in the same turn of
    /// the loop.
    init(
        _ record: SessionRecord, isNew: Bool, commits: CommitQueue, transport: any Transport,
        egress: TenantEgress, budget: AttemptBudget, account: SessionAccount, clock: any Clock,
        digests: any Digests, memory: SessionMemory
    ) {
        self.account = account
        self.clock = clock
        nonces = DigestNonces(digests)
        self.memory = memory
        home = (commits, false)
        state =
            isNew ? Acknowledged(new: record, in: commits) : Acknowledged(record, in: commits)
        network = (transport, egress)
        bandwidth = Bandwidth(within: account.tenant.bandwidth)
        bandwidth.limit = record.maximumBytesPerSecond
        self.queue = SlotQueue(
            limitPerHost: record.configuration.httpMaximumConnectionsPerHost, budget: budget,
            account: account.tenant)
    }

    /// Takes what changes to the store; of a session that has left, to nowhere.
    var commits: CommitQueue { home.commits }

    /// Whether another node has it: what comes late changes nothing any more.
    var hasLeft: Bool { home.isElsewhere }

    var store: any Store { commits.store }

    /// The session in its newest form. It is lent: who asks for a member copies no more than that.
    var record: SessionRecord { _read { yield state.newest } }

    /// Nil where the session has none (S-25).
    var cookies: CookieStorage? { memory.cookies }

    /// Nil where the session has none (S-25).
    var credentials: CredentialStorage? { memory.credentials }

    /// Nil where the session has none (S-24).
    var cache: ResponseCache? { memory.cache }

    /// Another node has the session, which the store has whole.
    ///
    /// - Parameter nowhere: a queue to a store that nobody reads.
    func leave(to nowhere: CommitQueue) {
        cache?.leave()
        home = (nowhere, true)
        closeConnections()
    }

    /// What the store has no room to note is not done: for each call that changes something, before
    /// it does.
    func requireRoom() throws(GatewayError) {
        try commits.requireRoom()
    }

    /// The session as the store has it; nil where it has not heard of it.
    var shown: SessionRecord? { state.shown }

    /// Made at the first attempt, so that a session at rest costs no descriptor.
    var pool: any ConnectionPool {
        if let connections { return connections }
        let pool = network.transport.makePool(
            PoolSettings(
                tlsMinimum: record.configuration.tlsMinimumSupportedProtocolVersion,
                tlsMaximum: record.configuration.tlsMaximumSupportedProtocolVersion,
                egress: network.egress))
        connections = pool
        return pool
    }

    /// The sequence of the next event.
    func advanceSequence() -> Int64 {
        change { $0.lastSequence += 1 }
        return state.newest.lastSequence
    }

    /// The number of the next task.
    func advanceTaskNumber() -> Int {
        change { record in
            record.lastTaskNumber += 1
            if record.isBackground { record.owesFinish = true }
        }
        return record.lastTaskNumber
    }

    func change(_ change: (inout SessionRecord) -> Void) {
        state.change(change)
        commits.record(.session(state.newest))
    }

    /// The client has decided about a server's certificate (S-75).
    func know(_ leaf: KnownLeaf) {
        change { record in
            record.knownLeaves.removeAll {
                $0.host == leaf.host && $0.port == leaf.port && $0.fingerprint == leaf.fingerprint
            }
            if record.knownLeaves.count == SessionRecord.knownLeafLimit {
                record.knownLeaves.removeFirst()
            }
            record.knownLeaves.append(leaf)
        }
    }

    /// The fields of a task's current request as they go to an origin: those of the client and the
    /// session, the content coding, and the jar's cookies where the client has none of its own.
    func outgoingHeaders(of task: TaskRecord) -> HeaderList {
        var headers = task.headers(in: record)
        if let accepted = ContentCoding(for: task.type, headers: headers).acceptEncoding {
            headers.append("Accept-Encoding", accepted)
        }
        if record.configuration.httpShouldSetCookies, !headers.contains("Cookie"),
            let field = cookies?.field(for: task.currentRequest.url, at: clock.now)
        {
            headers.append("Cookie", field)
        }
        return headers
    }

    /// The fields of a task's request with the jar's cookies of this moment, where the client has
    /// none of its own.
    func refreshingCookies(of headers: HeaderList, for task: TaskRecord) -> HeaderList {
        guard record.configuration.httpShouldSetCookies, let cookies,
            !task.headers(in: record).contains("Cookie")
        else { return headers }
        let field = cookies.field(for: task.currentRequest.url, at: clock.now)
        guard field != headers.first("Cookie") else { return headers }
        var fresh = headers.removing(["Cookie"])
        if let field { fresh.append("Cookie", field) }
        return fresh
    }

    /// Takes the cookies that an origin sets with the head of its answer to a task; a proxy's own
    /// answer sets none.
    func receiveCookies(of head: ResponseHead, to task: TaskRecord) {
        guard head.status != 407 else { return }
        cookies?.receive(
            head.headers, from: task.currentRequest.url, mainDocument: task.firstRequest.url,
            at: clock.now)
    }

    /// The client certificate that the session remembers for a server.
    func storedIdentity(for url: WebURL) -> ClientIdentity? {
        let space = ProtectionSpace(url.origin, method: .clientCertificate)
        guard case .identity(let identity)? = credentials?.credential(in: space)?.proof else {
            return nil
        }
        return identity
    }

    /// Keeps the part of a download, so many bytes, in place of the oldest one if there are many.
    func keep(_ file: ContentFile, of task: TaskID, _ length: Int64) {
        if keptParts.count == LiveSession.keptPartLimit {
            account.changeStored(by: -keptParts.removeFirst().length)
        }
        keptParts.append((task, file, length))
        account.changeStored(by: length)
    }

    /// Hands the part of a download on; nil where it is gone.
    func takePart(of task: TaskID) -> ContentFile? {
        guard let index = keptParts.firstIndex(where: { $0.task == task }) else { return nil }
        let part = keptParts.remove(at: index)
        account.changeStored(by: -part.length)
        return part.file
    }

    /// Whether a part is kept that a download of this session could go on from.
    func keepsPart(of task: TaskID) -> Bool {
        record.isPersistent
            ? account.tenant.keepsPart(of: task) : keptParts.contains { $0.task == task }
    }

    /// Nobody can ask for its results any more: whoever still holds the session holds none of them.
    func dropContents() {
        unnamedFiles = [:]
        for part in keptParts { account.changeStored(by: -part.length) }
        keptParts = []
    }

    /// What is started from now on has sockets of its own; what is on its way keeps those that it
    /// has (S-12, S-13).
    func closeConnections() {
        connections?.close()
        connections = nil
    }

    // MARK: What it remembers

    /// Empties what the session remembers.
    func forgetEverything() async {
        cookies?.removeAll()
        credentials?.removeAll()
        accepted.removeAll()
        await cache?.removeAll()
    }

    /// Brings to the store what was noted in passing.
    func tidy(at now: Timestamp) {
        cookies?.tidy(at: now)
        cache?.tidy()
    }

    /// Whether the session can remember a credential for so long (S-67).
    func check(_ persistence: CredentialPersistence) throws(GatewayError) {
        guard persistence != .permanent || record.isPersistent else {
            throw .credentialNotUsable("An ephemeral session keeps no credential permanently.")
        }
    }
}
