internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// The rows of tenants.
struct TenantTable {
    /// All tenants.
    static let columns = "SELECT id, name, createdAt, isEnding, properties FROM tenant_record"

    let database: Database

    /// Writes tenants, new or changed.
    func save(_ tenants: [TenantRecord]) throws {
        guard !tenants.isEmpty else { return }
        let statement = try PreparedStatement(
            database,
            """
            INSERT INTO tenant_record (id, name, createdAt, isEnding, properties)
            VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, isEnding = excluded.isEnding,
                properties = excluded.properties
            """)
        for tenant in tenants {
            var properties = RecordWriter()
            tenant.write(to: &properties)
            statement.bind(1, tenant.id.rawValue)
            statement.bind(2, tenant.name)
            statement.bind(3, tenant.createdAt?.milliseconds)
            statement.bind(4, tenant.isEnding)
            try statement.run(5, properties.bytes)
        }
    }

    /// Forgets tenants with their counters; their numbers are not given again.
    func remove(_ tenants: [TenantID]) throws {
        guard !tenants.isEmpty else { return }
        for table in ["tenant_record", "tenant"] {
            let delete = try PreparedStatement(database, "DELETE FROM \(table) WHERE id = ?1")
            for tenant in tenants {
                delete.bind(1, tenant.rawValue)
                try delete.run()
            }
        }
        for tenant in tenants { try GatewayRow(database: database).note(tenant.rawValue) }
    }

    /// Every tenant that can be read, in the order of creation.
    func all(damaged: inout [DamagedTenant]) throws -> [TenantRecord] {
        try PreparedStatement(database, Self.columns + " ORDER BY id").allReadable(
            of: "tenant_record", damaged: { damaged.append(DamagedTenant(row: $0)) }
        ) { row throws(StoreError) in try TenantRecord(row: row) }
    }

    /// Gives a damaged tenant a record that can be read: of the same number, so that all that it
    /// has stays its own, with usual quotas, and without a place that its transfers may go to.
    func mend(_ tenant: DamagedTenant) throws {
        let record = TenantRecord(
            id: tenant.id, name: try tenant.name ?? freeName(for: tenant.id),
            quotas: tenant.id == .operatorTenant ? TenantQuotas([:]) : .defaults,
            egress: .nothing, createdAt: nil)
        var properties = RecordWriter()
        record.write(to: &properties)
        let statement = try PreparedStatement(
            database, "UPDATE tenant_record SET name = ?2, properties = ?3 WHERE id = ?1")
        statement.bind(1, tenant.id.rawValue)
        statement.bind(2, record.name)
        try statement.run(3, properties.bytes)
    }

    /// The name of one whose own is lost: by its number, with a second one where others are called
    /// so.
    private func freeName(for tenant: TenantID) throws -> String {
        let name =
            tenant == .operatorTenant ? TenantName.ofOperator : "tenant-\(tenant.rawValue)"
        let statement = try PreparedStatement(
            database, "SELECT name FROM tenant_record WHERE id != ?1")
        statement.bind(1, tenant.rawValue)
        let taken = Set(try statement.all { $0.stringOrNil(0) })
        var (free, number) = (name, 1)
        while taken.contains(free) {
            number += 1
            free = "\(name)-\(number)"
        }
        return free
    }
}
