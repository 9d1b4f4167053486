public import Loop
public import Semantics

/// Where the transfers of one tenant may go, of what the policy of the whole gateway lets through.
///
/// All connections of the tenant share it: each request is judged by what it says at its time.
@LoopActor
public final class TenantEgress {
    /// Whose it is.
    public let tenant: TenantID
    /// May be set while connections are open.
    public internal(set) var narrowing: EgressNarrowing

    /// The rule of a tenant.
    public init(of tenant: TenantID, _ narrowing: EgressNarrowing) {
        self.tenant = tenant
        self.narrowing = narrowing
    }
}
