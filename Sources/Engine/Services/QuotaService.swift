internal import Diagnostics
public import Loop
public import Semantics

/// What a tenant uses of each quota, and how much it may.
public struct TenantUsage: Equatable, Sendable {
    /// One quota.
    public struct Item: Equatable, Sendable {
        /// Which one.
        public let quota: TenantQuotas.Quota
        /// What is used now; of rates, what was in the last whole second.
        public let used: Int64
        /// Nil for no limit.
        public let limit: Int64?
    }

    /// All quotas, in their order.
    public let items: [Item]

    /// What is used of a quota.
    public func used(_ quota: TenantQuotas.Quota) -> Int64 {
        items.first { $0.quota == quota }?.used ?? 0
    }
}

/// Quotas of tenants, and what is used of them.
@LoopActor
public final class QuotaService {
    let accounts: TenantAccounts
    private let budget: AttemptBudget
    private let log = Log("engine.tenants")
    /// What the store had at the start is being counted.
    private var counting: Task<Void, Never>?

    init(_ accounts: TenantAccounts, budget: AttemptBudget) {
        self.accounts = accounts
        self.budget = budget
    }

    /// Counts the bytes of results, caches and resting downloads that the store has at this moment,
    /// and the parts that are kept for resume data.
    ///
    /// Of a million results that takes seconds, and nobody waits for it but who asks for the usage:
    /// until then a tenant may store a bit more than its quota.
    ///
    /// - Parameters:
    ///   - store: has results and caches.
    ///   - contents: have parts.
    ///   - tenants: whose bytes are counted; nil for all.
    func count(
        what store: any Store, and contents: any ContentStore, of tenants: Set<TenantID>?
    ) async {
        await withCheckedContinuation { begun in
            let earlier = counting
            counting = LoopActor.start { [self] in
                do throws(StoreError) {
                    let stored = try await store.storedBytes(of: tenants) { begun.resume() }
                    for (tenant, bytes) in stored {
                        accounts[tenant].take(bytes, of: .storedBytes)
                    }
                } catch {
                    hasNotCounted(because: error)
                }
                do {
                    accounts.recallParts(try await contents.list([.kept]), of: tenants)
                } catch {
                    accounts.recallParts([], of: tenants)
                    hasNotCounted(because: error)
                }
                await earlier?.value
            }
        }
    }

    private func hasNotCounted(because error: any Error) {
        log.write(
            .error, "what is stored could not be counted: quotas hold for what comes from now on",
            ["error": .words("\(error)")])
    }

    /// A tenant's quotas from now on: at a start, and whenever they change. They are not kept.
    ///
    /// Nothing ends because of a lower one; transfers that wait for a higher one go on.
    public func set(_ quotas: TenantQuotas, of tenant: TenantID) {
        accounts[tenant].set(quotas)
        budget.quotasHaveChanged()
    }

    /// Forgets a tenant that is no more, and that nothing is left of.
    public func forget(_ tenant: TenantID) { accounts.remove(tenant) }

    /// What a tenant uses at the moment. Shortly after a start it waits until all is counted.
    public func usage(of tenant: TenantID) async -> TenantUsage {
        await counting?.value
        let account = accounts[tenant]
        return TenantUsage(
            items: TenantQuotas.Quota.allCases.map { quota in
                TenantUsage.Item(
                    quota: quota, used: account.used(quota), limit: account.quotas[quota])
            })
    }

    /// Counts a request to the API.
    ///
    /// - Throws: `overQuota` where it comes too soon after others; it may come again in a second.
    public func admitRequest(of tenant: TenantID) throws(GatewayError) {
        let account = accounts[tenant]
        guard account.admitRequest() else {
            throw .overQuota(
                .requestsPerSecond, limit: account.quotas[.requestsPerSecond] ?? .max)
        }
    }

    /// Counts an event stream for as long as the permit is held.
    ///
    /// - Throws: `overQuota`.
    public func openStream(of tenant: TenantID) throws(GatewayError) -> StreamPermit {
        try StreamPermit(of: accounts[tenant])
    }
}
