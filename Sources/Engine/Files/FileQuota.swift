internal import Semantics

/// What staged files take of their tenants' shares of the disk: bytes that are there, or have been
/// announced.
struct FileQuota {
    private struct Total {
        var bytes: Int64 = 0
        var count = 0
    }

    private struct Share {
        let tenant: TenantID
        var bytes: Int64
    }

    /// Bytes of all files of a tenant together.
    let byteLimit: Int64
    /// Files of a tenant.
    let countLimit: Int
    private var totals: [TenantID: Total] = [:]
    private var shares: [FileID: Share] = [:]

    /// The shares of files that are there, whether they are within the limits or not.
    init(_ files: [StagedFile], byteLimit: Int64, countLimit: Int) {
        self.byteLimit = byteLimit
        self.countLimit = countLimit
        for file in files { add(file) }
    }

    /// Makes room for a new file.
    /// - Returns: false where there is none.
    mutating func admit(_ file: StagedFile) -> Bool {
        let total = totals[file.tenant] ?? Total()
        guard total.count < countLimit, file.claim <= byteLimit - total.bytes else { return false }
        add(file)
        return true
    }

    /// Makes room for a file to have `bytes` bytes; what it has room for already stays.
    /// - Returns: false where there is none.
    mutating func raise(_ id: FileID, to bytes: Int64) -> Bool {
        guard let share = shares[id] else { return false }
        let more = bytes - share.bytes
        guard more > 0 else { return true }
        guard more <= byteLimit - (totals[share.tenant]?.bytes ?? 0) else { return false }
        totals[share.tenant]?.bytes += more
        shares[id]?.bytes = bytes
        return true
    }

    /// Gives back what a file does not need of its room.
    mutating func fit(_ file: StagedFile) {
        guard let share = shares[file.id] else { return }
        totals[share.tenant]?.bytes += file.claim - share.bytes
        shares[file.id]?.bytes = file.claim
    }

    /// A file is no more.
    mutating func release(_ id: FileID) {
        guard let share = shares.removeValue(forKey: id) else { return }
        totals[share.tenant]?.bytes -= share.bytes
        totals[share.tenant]?.count -= 1
        if totals[share.tenant]?.count == 0 { totals[share.tenant] = nil }
    }

    private mutating func add(_ file: StagedFile) {
        shares[file.id] = Share(tenant: file.tenant, bytes: file.claim)
        totals[file.tenant, default: Total()].bytes += file.claim
        totals[file.tenant, default: Total()].count += 1
    }
}

extension StagedFile {
    /// What the file takes of the quota: what it has, or is going to have.
    fileprivate var claim: Int64 { isComplete ? length : max(length, announcedLength ?? 0) }
}
