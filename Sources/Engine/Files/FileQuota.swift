internal import Loop
internal import Semantics

/// What staged files take of the disk: bytes that are there, or have been announced. Held against
/// what the gateway gives to any tenant's files, and against the tenant's own quotas.
@LoopActor
struct FileQuota {
    private struct Share {
        let account: TenantAccount
        var bytes: Int64
    }

    /// Bytes of all files of a tenant together.
    let byteLimit: Int64
    /// Files of a tenant.
    let countLimit: Int
    private var counts: [TenantID: Int] = [:]
    private var shares: [FileID: Share] = [:]

    init(byteLimit: Int64, countLimit: Int) {
        self.byteLimit = byteLimit
        self.countLimit = countLimit
    }

    /// Counts a file that is there, whether it is within the limits or not.
    mutating func recall(_ file: StagedFile, _ account: TenantAccount) { add(file, account) }

    /// Makes room for a new file.
    ///
    /// - Throws: `quotaExceeded`, `overQuota` where there is none.
    mutating func admit(_ file: StagedFile, _ account: TenantAccount) throws(GatewayError) {
        guard counts[file.tenant] ?? 0 < countLimit else { throw .quotaExceeded }
        try requireRoom(for: file.claim, account)
        add(file, account)
    }

    /// Makes room for a file to have `bytes` bytes; what it has room for already stays.
    ///
    /// - Throws: `quotaExceeded`, `overQuota` where there is none.
    mutating func raise(_ id: FileID, to bytes: Int64) throws(GatewayError) {
        guard let share = shares[id] else { throw .noSuchFile }
        guard bytes > share.bytes else { return }
        try requireRoom(for: bytes - share.bytes, share.account)
        change(id, to: bytes)
    }

    /// Gives back what a file does not need of its room.
    mutating func fit(_ file: StagedFile) { change(file.id, to: file.claim) }

    /// A file is no more.
    mutating func release(_ id: FileID) {
        change(id, to: 0)
        guard let share = shares.removeValue(forKey: id), let count = counts[share.account.tenant]
        else { return }
        counts[share.account.tenant] = count == 1 ? nil : count - 1
    }

    private func requireRoom(for more: Int64, _ account: TenantAccount) throws(GatewayError) {
        guard more <= byteLimit - account.used(.stagedBytes) else { throw .quotaExceeded }
        try account.requireRoom(for: more, of: .stagedBytes)
        try account.requireRoom(for: more, of: .storedBytes)
    }

    private mutating func add(_ file: StagedFile, _ account: TenantAccount) {
        shares[file.id] = Share(account: account, bytes: 0)
        counts[file.tenant, default: 0] += 1
        change(file.id, to: file.claim)
    }

    private mutating func change(_ id: FileID, to bytes: Int64) {
        guard let share = shares[id] else { return }
        let more = bytes - share.bytes
        if more > 0 {
            share.account.take(more, of: .stagedBytes)
            share.account.take(more, of: .storedBytes)
        } else {
            share.account.giveBack(-more, of: .stagedBytes)
            share.account.giveBack(-more, of: .storedBytes)
        }
        shares[id]?.bytes = bytes
    }
}

extension StagedFile {
    /// What the file takes of the quota: what it has, or is going to have.
    fileprivate var claim: Int64 { isComplete ? length : max(length, announcedLength ?? 0) }
}
