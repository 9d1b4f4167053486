public import Loop
public import Semantics

/// A request that creates something, under a key that its client has chosen.
public struct CreationRequest: Sendable {
    /// The key as the client gave it, 1…255 bytes; each tenant has its own.
    public let key: String
    /// What tells the request from others, see `CreationLedger.fingerprint(of:)`.
    public let fingerprint: [UInt8]

    /// A request from its parts; they are not checked again.
    public init(key: String, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

/// What became of a request that creates something.
public enum Creation<Created> {
    /// It has been done just now.
    case new(Created)
    /// An earlier request with the same key has done it. The numbers of what was created then, in
    /// the order of the request, and 0 for an element that was refused; some of it may have been
    /// forgotten since.
    case earlier([Int64])
}

extension Creation: Sendable where Created: Sendable {}

/// Writes down what a key has created, in the transaction that creates it.
///
/// Given by `CreationLedger.once` to what creates. Whoever creates without recording leaves the key
/// free.
@LoopActor
public final class CreationTicket {
    /// Of an array, which elements are created; nil where all are.
    public var accepted: [Bool]?
    /// Whether the store had the key already: somebody else was first.
    fileprivate(set) var isTaken = false

    private let tenant: TenantID
    private let request: CreationRequest
    private let at: KeptTime

    init(_ request: CreationRequest, of tenant: TenantID, at: KeptTime) {
        self.request = request
        self.tenant = tenant
        self.at = at
    }

    fileprivate func record(of created: [Int64]) -> IdempotencyRecord {
        var numbers = created.makeIterator()
        let all = accepted.map { $0.map { $0 ? numbers.next() ?? 0 : 0 } } ?? created
        return IdempotencyRecord(
            tenant: tenant, key: request.key, fingerprint: request.fingerprint, created: all,
            at: at)
    }
}

extension CommitQueue {
    /// Records that a ticket's key has created something, and returns once both are durable: to be
    /// called in the turn of the loop in which the queue got what was created, so that both are in
    /// one transaction.
    ///
    /// - Parameters:
    ///   - created: the numbers of what was created, in the order of the request.
    ///   - ticket: nil where it was created without a key.
    /// - Throws: `diskFull`; `keyReused` where the store had the key already, and nothing was
    ///   created: the ledger knows what to answer then.
    func acknowledged(
        _ created: [Int64], under ticket: CreationTicket?
    ) async throws(GatewayError) {
        guard let ticket else {
            try await acknowledged()
            return
        }
        let creation = ticket.record(of: created)
        record(.creation(creation))
        let conflicts = try await acknowledged().conflicts
        if conflicts.contains(.creation(CreationKey(creation))) {
            ticket.isTaken = true
            throw .keyReused
        }
    }
}

/// Creates once, however often it is asked for.
@LoopActor
public final class CreationLedger {
    private let locks = CreationLocks()
    private let queues: CommitQueues
    private let digests: any Digests
    private let clock: KeptClock

    init(queues: CommitQueues, digests: any Digests, clock: KeptClock) {
        self.queues = queues
        self.digests = digests
        self.clock = clock
    }

    /// SHA-256 over the parts of a request, each with its length in front: 32 bytes.
    public func fingerprint(of parts: [UInt8]...) -> [UInt8] {
        var digest = digests.start(.sha256)
        for part in parts {
            withUnsafeBytes(of: UInt64(part.count).bigEndian) { digest.update($0) }
            part.withUnsafeBytes { digest.update($0) }
        }
        return digest.value()
    }

    /// Creates, unless a request with the same key has done it in the last 24 hours.
    ///
    /// Of several requests with one key at the same time one creates, and the others wait for it.
    /// What was refused leaves the key free.
    ///
    /// - Parameters:
    ///   - request: the key and what it stands for; nil creates without a key.
    ///   - tenant: whose key it is.
    ///   - create: creates, hands the ticket to what does, and waits for nothing else: others may
    ///     be waiting.
    /// - Returns: what `create` has made, or what an earlier request has.
    /// - Throws: `GatewayError.keyReused` where the key stands for another request; what `create`
    ///   throws.
    public func once<Created>(
        _ request: CreationRequest?, of tenant: TenantID,
        _ create: @LoopActor (CreationTicket?) async throws -> Created
    ) async throws -> Creation<Created> {
        guard let request else { return .new(try await create(nil)) }
        let key = CreationKey(tenant: tenant, key: request.key)
        await locks.enter(key)
        defer { locks.leave(key) }
        if let earlier: Creation<Created> = try await earlier(request, tenant) { return earlier }
        let ticket = CreationTicket(request, of: tenant, at: clock.now)
        do {
            return .new(try await create(ticket))
        } catch {
            // The locks are this process's; the store's word is what counts.
            guard ticket.isTaken,
                let earlier: Creation<Created> = try await earlier(request, tenant)
            else { throw error }
            return earlier
        }
    }

    /// Writes down what a request is about that creates it element by element, each under a key of
    /// its own; durable when it returns.
    ///
    /// - Throws: as `CommitQueue.acknowledged`.
    public func keep(
        _ numbers: [Int64], under ticket: CreationTicket
    ) async throws(GatewayError) {
        try await queues.onDisk.acknowledged(numbers, under: ticket)
    }

    /// What an earlier request with the same key has done; nil where there was none.
    private func earlier<Created>(
        _ request: CreationRequest, _ tenant: TenantID
    ) async throws(GatewayError) -> Creation<Created>? {
        guard let record = try await creation(of: request.key, of: tenant) else { return nil }
        guard record.fingerprint == request.fingerprint else { throw .keyReused }
        return .earlier(record.created)
    }

    /// What a key has created; nil for a new one.
    private func creation(
        of key: String, of tenant: TenantID
    ) async throws(GatewayError) -> IdempotencyRecord? {
        for commits in queues.each {
            if let pending = commits.pendingCreation(of: key, tenant: tenant) {
                try await commits.acknowledged()
                return pending
            }
            let stored = try await reading { () throws(StoreError) in
                try await commits.store.creation(of: key, of: tenant)
            }
            if let stored { return stored }
        }
        return nil
    }
}

/// The keys of creations that are under way.
@LoopActor
private final class CreationLocks {
    /// Who waits for each key that is taken, in the order of coming.
    private var waiters: [CreationKey: [CheckedContinuation<Void, Never>]] = [:]

    /// Takes the key; waits while another one has it.
    func enter(_ key: CreationKey) async {
        guard waiters[key] != nil else {
            waiters[key] = []
            return
        }
        await withCheckedContinuation { waiters[key, default: []].append($0) }
    }

    /// Gives the key to the one who has waited longest.
    func leave(_ key: CreationKey) {
        if waiters[key]?.isEmpty ?? true {
            waiters[key] = nil
        } else {
            waiters[key]?.removeFirst().resume()
        }
    }
}
