internal import Engine
internal import GRDB
internal import Records
internal import Semantics

extension Resealing {
    /// Seals what events carry. Packs without anything sealed are not written.
    func resealPacks() throws {
        let update = try PreparedStatement(
            database, "UPDATE event_pack SET events = ?2 WHERE id = ?1")
        try forEachRow(
            of: "event_pack",
            """
            SELECT id, tenant, session, events FROM event_pack WHERE id > ?1 ORDER BY id LIMIT 1
            """,
            key: \.id,
            { row in
                (
                    id: row.int64(0), tenant: TenantID(rawValue: row.int64(1)),
                    session: SessionID(rawValue: row.int64(2)), bytes: row.bytes(3)
                )
            }
        ) { id, tenant, session, bytes in
            guard let bytes = try keys.resealed(pack: bytes, of: tenant, session) else { return }
            update.bind(1, id)
            try update.run(2, bytes)
        }
    }
}
