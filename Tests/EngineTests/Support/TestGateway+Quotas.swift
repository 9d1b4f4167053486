import Loop
import Semantics

@testable import Engine

extension TestGateway {
    /// Sets the quotas of a tenant; what is not among them has none.
    func set(_ limits: [TenantQuotas.Quota: Int64], of tenant: TenantID? = nil) {
        gateway.quotas.set(TenantQuotas(limits), of: tenant ?? self.tenant)
    }

    /// What a tenant uses.
    func used(_ quota: TenantQuotas.Quota, _ tenant: TenantID? = nil) async -> Int64 {
        await gateway.quotas.usage(of: tenant ?? self.tenant).used(quota)
    }

    /// Creates tasks that are alike, one after the other.
    func create(_ count: Int, _ spec: TaskSpec, in session: SessionID) async throws -> [TaskID] {
        var tasks: [TaskID] = []
        for _ in 0..<count { tasks.append(try await create(spec, in: session)) }
        return tasks
    }

    /// Makes a tenant of this number, where there is none.
    func admit(_ tenant: TenantID) {
        let directory = gateway.tenants.directory
        guard directory[tenant] == nil else { return }
        directory.admit(
            TenantRecord(id: tenant, name: "tenant-\(tenant.rawValue)", createdAt: clock.now))
    }

    /// A session without a cache, of any tenant.
    func session(_ type: SessionType = .default, of tenant: TenantID) async throws -> SessionID {
        admit(tenant)
        var configuration = SessionConfiguration()
        configuration.urlCache.memoryCapacity = 0
        configuration.urlCache.diskCapacity = 0
        return try await gateway.sessions.create(
            SessionSpec(
                type: type, description: nil, configuration: configuration, delegate: nil),
            of: tenant
        ).record.id
    }
}
