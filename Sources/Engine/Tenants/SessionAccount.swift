internal import Loop
public import Semantics

/// What one session takes of its tenant's quotas.
@LoopActor
final class SessionAccount {
    let tenant: TenantAccount
    /// Whether it counts as a session: it has not ended, and somebody has created it.
    private var counts: Bool
    /// What is stored of it, since the start.
    private var storedBytes: Int64 = 0

    init(of session: SessionRecord, in tenant: TenantAccount) {
        self.tenant = tenant
        counts = session.state != .invalid && session.countsAgainstQuota
        if counts { tenant.take(of: .sessions) }
    }

    /// The session has ended, or was never there.
    func end() {
        guard counts else { return }
        counts = false
        tenant.giveBack(of: .sessions)
    }

    /// More is stored of it, or less.
    func changeStored(by count: Int64) {
        guard count != 0 else { return }
        storedBytes += count
        if count > 0 {
            tenant.take(count, of: .storedBytes)
        } else {
            tenant.giveBack(-count, of: .storedBytes)
        }
    }

    /// All that was stored of it since the start is gone with it.
    func forgetStored() { changeStored(by: -storedBytes) }
}

extension SessionRecord {
    /// The shared session is always there (S-4): nobody could end it to make room.
    var countsAgainstQuota: Bool { type != .shared }
}

extension TaskRecord {
    /// The bytes that the gateway itself keeps of it while it rests: its content, or what has come
    /// of a download that is to go on.
    public var storedLength: Int64 {
        guard self.state != .completed else { return self.content?.storedLength ?? 0 }
        guard let checkpoint = self.checkpoint, checkpoint.part == self.id else { return 0 }
        return checkpoint.point.receivedCount
    }
}

extension ContentRecord {
    /// The bytes that the gateway itself keeps of it.
    public var storedLength: Int64 { place == .folder ? 0 : length }
}
