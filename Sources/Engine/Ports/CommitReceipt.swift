public import Semantics

/// What has become of a batch.
public struct CommitReceipt: Equatable, Sendable {
    /// Preconditions that did not hold. Of what belongs to them nothing was written; all else was.
    public var conflicts: [CommitConflict]

    /// The receipt of a batch whose preconditions held, but for these.
    public init(conflicts: [CommitConflict] = []) { self.conflicts = conflicts }
}

/// A precondition of a change that did not hold in the store: somebody else was first.
public enum CommitConflict: Hashable, Sendable {
    /// The key has created something already.
    case creation(CreationKey)
    /// The decision has another state than was expected, or is gone (S-74).
    case decision(DecisionID)
}

/// What tells one creation from another: the key's bytes, as the client gave them.
public struct CreationKey: Hashable, Sendable {
    /// Whose key it is.
    public let tenant: TenantID
    /// UTF-8; two keys that look alike may differ.
    public let bytes: [UInt8]

    /// A tenant's key.
    public init(tenant: TenantID, key: String) {
        self.tenant = tenant
        bytes = Array(key.utf8)
    }

    /// The key of a creation.
    public init(_ creation: IdempotencyRecord) {
        self.init(tenant: creation.tenant, key: creation.key)
    }
}

// MARK: - What belongs to a change

/// Sessions, tasks and files of which a store writes nothing, because a change that they belong to
/// had a precondition that did not hold.
///
/// A number names one thing, whatever that is.
struct RefusedNumbers {
    private(set) var numbers: Set<Int64> = []
    /// Tasks that the store has, in a form that somebody else has given to them.
    private var stored: Set<Int64> = []
    private let conflicts: Set<CommitConflict>

    /// To a key belongs what the request has created; to a decision its task, with the one that
    /// goes on in its place.
    init(_ conflicts: [CommitConflict], in batch: StoreBatch) {
        self.conflicts = Set(conflicts)
        for creation in batch.creations where refuses(creation) {
            numbers.formUnion(creation.created)
        }
        for decision in batch.decisions where refuses(decision) {
            numbers.insert(decision.task.rawValue)
            stored.insert(decision.task.rawValue)
        }
        formSuccessors(in: batch)
    }

    /// Takes in the tasks of a batch that go on with what those that are here have begun.
    mutating func formSuccessors(in batch: StoreBatch) {
        for (task, successor) in batch.successors where contains(task) {
            var next: TaskID? = successor
            while let task = next, numbers.insert(task.rawValue).inserted {
                next = batch.successors[task]
            }
        }
    }

    func refuses(_ creation: IdempotencyRecord) -> Bool {
        conflicts.contains(.creation(CreationKey(creation)))
    }

    func refuses(_ decision: DecisionRecord) -> Bool {
        conflicts.contains(.decision(decision.id))
    }

    /// Whether the store has the task nevertheless, as it was before.
    func isInStore(_ task: TaskID) -> Bool { stored.contains(task.rawValue) }

    func contains(_ task: TaskID) -> Bool { numbers.contains(task.rawValue) }

    func contains(_ session: SessionID) -> Bool { numbers.contains(session.rawValue) }

    func contains(_ file: FileID) -> Bool { numbers.contains(file.rawValue) }

    func contains(_ webhook: WebhookRecord) -> Bool {
        numbers.contains(webhook.id.rawValue) || webhook.session.map { contains($0) } ?? false
    }

    func contains(_ event: Event) -> Bool {
        contains(event.session) || event.task.map { contains($0) } ?? false
    }
}

extension StoreBatch {
    /// The batch without what belongs to preconditions that do not hold.
    ///
    /// For a store, which finds the conflicts before it writes anything else. Costs a look at every
    /// change.
    public func without(_ conflicts: [CommitConflict]) -> StoreBatch {
        without(RefusedNumbers(conflicts, in: self))
    }

    /// The batch without anything that is about these.
    func without(_ refused: RefusedNumbers) -> StoreBatch {
        var batch = self
        batch.creations.removeAll { refused.refuses($0) }
        batch.sessions.removeAll { refused.contains($0.id) }
        batch.removedSessions.removeAll { refused.contains($0) }
        batch.createdTasks.removeAll { refused.contains($0.id) || refused.contains($0.session) }
        batch.changedTasks.removeAll { refused.contains($0.id) || refused.contains($0.session) }
        batch.removedTasks.removeAll { refused.contains($0) }
        batch.contents.removeAll { refused.contains($0.task) }
        batch.removedContents.removeAll { refused.contains($0) }
        batch.decisions.removeAll { refused.contains($0.task) || refused.contains($0.session) }
        for decision in decisions where refused.contains(decision.task) {
            batch.expectedStates[decision.id] = nil
        }
        batch.events.removeAll { refused.contains($0) }
        batch.files.removeAll { refused.contains($0.id) }
        batch.removedFiles.removeAll { refused.contains($0) }
        batch.cookies.removeAll { refused.contains($0.session) }
        batch.credentials.removeAll { refused.contains($0.session) }
        batch.emptiedCaches.removeAll { refused.contains($0) }
        batch.cacheEntries.removeAll { refused.contains($0.entry.session) }
        batch.webhooks.removeAll { refused.contains($0) }
        return batch
    }
}
