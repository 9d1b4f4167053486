public import Loop
internal import Semantics

/// One of the event streams that a tenant may have open: it is given back when nobody holds the
/// permit any more.
@LoopActor
public final class StreamPermit {
    private let account: TenantAccount

    init(of account: TenantAccount) throws(GatewayError) {
        try account.requireRoom(of: .eventStreams)
        account.take(of: .eventStreams)
        self.account = account
    }

    isolated deinit { account.giveBack(of: .eventStreams) }
}
