internal import Loop
internal import Semantics

/// The accounts of all tenants that have called, or have anything.
@LoopActor
final class TenantAccounts {
    private var accounts: [TenantID: TenantAccount] = [:]
    /// The one that was asked for last: nearly every request is of the same tenant.
    private var latest: TenantAccount?
    private let bandwidth: Bandwidth
    private let clock: any Clock

    /// The newest event of each tenant that the store had when it was recalled.
    private var sequences: [TenantID: Int64] = [:]
    /// Whether the parts of earlier processes are counted.
    private var knowsParts = false

    /// No accounts; `bandwidth` is the limit of the gateway, which theirs are within.
    init(within bandwidth: Bandwidth, clock: any Clock) {
        self.bandwidth = bandwidth
        self.clock = clock
    }

    /// Opens the accounts of those that the store knows, with the outstanding tasks that it has
    /// counted. Nothing of theirs is counted yet.
    func recall(_ contents: StoreContents) {
        for (tenant, sequence) in contents.tenantSequences {
            remove(tenant)
            sequences[tenant] = sequence
            accounts[tenant] = make(tenant)
        }
        for (tenant, count) in contents.outstandingTasks {
            self[tenant].take(Int64(count), of: .outstandingTasks)
        }
    }

    /// Whether there is more than one tenant to share with.
    var areSeveral: Bool { accounts.count > 1 }

    /// A tenant's account. The operator's tenant has no quotas until some are set: the machine is
    /// the operator's; others have the usual ones.
    subscript(tenant: TenantID) -> TenantAccount {
        if let latest, latest.tenant == tenant { return latest }
        let account = accounts[tenant] ?? open(tenant)
        latest = account
        return account
    }

    private func make(_ tenant: TenantID) -> TenantAccount {
        let quotas = tenant == .operatorTenant ? TenantQuotas([:]) : .defaults
        return TenantAccount(
            of: tenant, quotas, within: bandwidth, clock: clock,
            eventsAfter: sequences[tenant] ?? 0)
    }

    /// The account of a tenant that has nothing yet.
    private func open(_ tenant: TenantID) -> TenantAccount {
        let account = make(tenant)
        if knowsParts { account.recallParts([:]) }
        accounts[tenant] = account
        return account
    }

    /// Counts the parts of downloads that were kept when tenants were recalled, of these or of all;
    /// those of before there were tenants are nobody's.
    func recallParts(_ entries: [ContentEntry], of tenants: Set<TenantID>? = nil) {
        var lengths: [TenantID: [TaskID: Int64]] = [:]
        for entry in entries {
            guard let tenant = entry.tenant, case .task(let task) = entry.owner else { continue }
            lengths[tenant, default: [:]][task] = entry.length
        }
        if let tenants {
            for tenant in tenants { self[tenant].recallParts(lengths[tenant] ?? [:]) }
            return
        }
        for tenant in lengths.keys { _ = self[tenant] }
        knowsParts = true
        for (tenant, account) in accounts { account.recallParts(lengths[tenant] ?? [:]) }
    }

    /// The part of a download is not kept any more.
    func dropPart(of task: TaskID, in tenant: TenantID) { accounts[tenant]?.dropPart(of: task) }

    /// Forgets a tenant of which nothing is left.
    func remove(_ tenant: TenantID) {
        accounts[tenant] = nil
        sequences[tenant] = nil
        if latest?.tenant == tenant { latest = nil }
    }
}
