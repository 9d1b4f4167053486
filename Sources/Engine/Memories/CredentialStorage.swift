internal import Loop
internal import Semantics

/// The credentials that a session remembers (S-25, S-67), and what of them the store has.
///
/// `permanent` ones are kept over restarts, `forSession` ones while the gateway runs. A space has
/// one default credential: it is proposed to who is asked, and taken where nobody is.
@LoopActor
final class CredentialStorage {
    /// The most credentials that are remembered; beyond it the oldest are forgotten.
    private static let limit = 1_000

    private var entries: Acknowledged<[Int64: StoredCredential]>
    /// Those of each space, oldest first.
    private var numbers: [ProtectionSpace: [Int64]] = [:]
    private var lastNumber: Int64 = 0
    /// Nil where nothing reaches the store.
    private let commits: CommitQueue?
    private let owner: (session: SessionID, tenant: TenantID)
    /// Called when something has changed.
    var onChange: (@LoopActor () -> Void)?

    init(
        _ record: SessionRecord, restoring credentials: [Int64: StoredCredential],
        commits: CommitQueue
    ) {
        self.commits = record.isPersistent ? commits : nil
        owner = (record.id, record.tenant)
        entries = Acknowledged(credentials, in: self.commits)
        for (number, credential) in credentials.sorted(by: { $0.key < $1.key }) {
            numbers[credential.space, default: []].append(number)
            lastNumber = number
        }
    }

    /// All of them, in the order in which they came.
    var all: [StoredCredential] { CredentialStorage.inOrder(entries.newest) }

    /// The same as the store has it; those of `forSession` are kept by memory alone, and come and
    /// go with the others.
    var shown: [StoredCredential] { CredentialStorage.inOrder(entries.shown ?? [:]) }

    private static func inOrder(_ entries: [Int64: StoredCredential]) -> [StoredCredential] {
        entries.sorted { $0.key < $1.key }.map(\.value)
    }

    /// What is proposed for a space.
    func credential(in space: ProtectionSpace) -> Credential? {
        let candidates = (numbers[space] ?? []).compactMap { entries.newest[$0] }
        return (candidates.first { $0.isDefault } ?? candidates.last)?.credential
    }

    /// Whether this is what is taken for a space where nobody is asked.
    func holds(_ use: AuthenticationRound.Use, in space: ProtectionSpace) -> Bool {
        guard case .password(let user, let password) = use else { return false }
        return credential(in: space)?.proof == .password(user: user, password: password)
    }

    /// Remembers a credential for a space, in place of another one of its user.
    func put(_ credential: Credential, in space: ProtectionSpace, asDefault isDefault: Bool) {
        guard credential.persistence != .none else { return }
        let new = StoredCredential(space: space, credential: credential, isDefault: isDefault)
        let others = numbers[space] ?? []
        let old = others.first { entries.newest[$0]?.user == new.user }
        guard old.flatMap({ entries.newest[$0] }) != new else { return }
        var change = Change(self)
        if isDefault {
            for number in others where number != old && entries.newest[number]?.isDefault == true {
                entries.change { $0[number]?.isDefault = false }
                change.note(number, entries.newest[number])
            }
        }
        let number = old ?? nextNumber()
        if old == nil { numbers[space, default: []].append(number) }
        entries.change { $0[number] = new }
        change.note(number, new)
        evictExcess(&change)
        finish(change)
    }

    /// Forgets a password that was refused, unless another one has taken its place.
    func drop(_ use: AuthenticationRound.Use, in space: ProtectionSpace) {
        guard case .password(let user, let password) = use else { return }
        _ = remove {
            $0.space == space && $0.credential.proof == .password(user: user, password: password)
        }
    }

    /// Forgets some.
    ///
    /// - Returns: how many.
    func remove(where isUnwanted: (StoredCredential) -> Bool) -> Int {
        let removed = entries.newest.filter { isUnwanted($0.value) }.map(\.key)
        guard !removed.isEmpty else { return 0 }
        var change = Change(self)
        for number in removed { remove(number, &change) }
        finish(change)
        return removed.count
    }

    /// Forgets everything (S-12).
    func removeAll() {
        guard !entries.newest.isEmpty else { return }
        entries.change { $0 = [:] }
        numbers = [:]
        var change = Change(self)
        change.rows.removesAll = true
        finish(change)
    }

    private func nextNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    private func remove(_ number: Int64, _ change: inout Change) {
        guard let entry = entries.change({ $0.removeValue(forKey: number) }) else { return }
        numbers[entry.space]?.removeAll { $0 == number }
        if numbers[entry.space]?.isEmpty == true { numbers[entry.space] = nil }
        change.note(number, nil)
    }

    private func evictExcess(_ change: inout Change) {
        guard entries.newest.count > CredentialStorage.limit, let oldest = entries.newest.keys.min()
        else {
            return
        }
        remove(oldest, &change)
    }

    private func finish(_ change: Change) {
        commits?.record(.credentials(change.rows))
        onChange?()
    }

    /// What the store has to be told.
    @LoopActor
    private struct Change {
        var rows: SessionChange<StoredCredential>

        init(_ storage: CredentialStorage) {
            rows = SessionChange(session: storage.owner.session, tenant: storage.owner.tenant)
        }

        /// Only permanent ones have rows; what was one before, and is none now, has none any more.
        mutating func note(_ number: Int64, _ entry: StoredCredential?) {
            if let entry, entry.credential.persistence == .permanent {
                rows.stored[number] = entry
            } else {
                rows.stored[number] = nil
                rows.removed.append(number)
            }
        }
    }
}
