internal import Semantics

/// The tenants and tokens of a store in memory.
struct KeptAccess {
    private var tenantRecords: [TenantID: TenantRecord] = [:]
    private var tokenRecords: [TokenID: TokenRecord] = [:]
    /// The greatest number of any tenant or token that there ever was.
    private(set) var lastIdentifier: Int64 = 0

    var tenants: [TenantRecord] { tenantRecords.values.sorted { $0.id.rawValue < $1.id.rawValue } }

    var tokens: [TokenRecord] { tokenRecords.values.sorted { $0.id < $1.id } }

    mutating func apply(_ batch: StoreBatch) {
        for tenant in batch.tenants {
            tenantRecords[tenant.id] = tenant
            lastIdentifier = max(lastIdentifier, tenant.id.rawValue)
        }
        for token in batch.tokens {
            tokenRecords[token.id] = token
            lastIdentifier = max(lastIdentifier, token.id.rawValue)
        }
        for (token, instant) in batch.tokenUses { tokenRecords[token]?.lastUsedAt = instant }
        for token in batch.removedTokens { tokenRecords[token] = nil }
        for tenant in batch.removedTenants { tenantRecords[tenant] = nil }
    }
}
