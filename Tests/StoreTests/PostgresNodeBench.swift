import Engine
import Sealing
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// Makes nodes that share a database, and does to them what their tests want.
struct PostgresNodeBench {
    let sealer = AESGCMSealer(key: DataKey())
    let tenants = (1...6).map { TenantID(rawValue: $0) }

    func node(
        _ url: String, _ silence: DatabaseLock.Silence = .patient, folder: UInt8 = 1,
        givesSigns: Bool = true
    ) throws -> PostgresNode {
        try PostgresNode(
            url: url, sealer: sealer, at: "http://node-\(folder).example:8080",
            folder: [folder], silence, givesSignsOfLife: givesSigns)
    }

    /// Ends the session that has a node's lock: as if it had been killed.
    func endSession(of node: PostgresNode, at url: String) throws {
        let others = try Connection(DatabaseAddress(url))
        let ended = try others.rows(
            """
            SELECT pg_terminate_backend(pid) FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND \(DatabaseLock.number)
                = \(DatabasePlace.node(node.node).lockNumber)
            """)
        #expect(ended.count == 1)
    }

    /// Looks until all tenants have nodes as they should.
    func look(
        _ node: PostgresNode, _ what: String, until isDone: (NodeView) -> Bool
    ) async throws -> NodeView {
        var view = NodeView()
        try await eventually(what) {
            view = try await node.look(waiting: .milliseconds(20))
            return isDone(view)
        }
        return view
    }

    /// What makes a session of a tenant.
    func batch(of tenant: TenantID, _ world: inout World) -> StoreBatch {
        let session = world.makeSession(of: tenant)
        return world.batch(session)
    }

    /// Sessions of tenants, committed by a node.
    func sessions(
        of tenants: [TenantID], _ world: inout World, by store: any Store
    ) async throws -> [SessionID] {
        var batch = StoreBatch()
        let sessions = tenants.map { world.makeSession(of: $0) }
        batch.sessions = sessions.map(world.session)
        try await store.commit(batch)
        return sessions
    }
}

extension DatabaseLock.Silence {
    /// Nobody is silent for so long.
    static let patient = Self(withSession: .seconds(3600), withoutSession: .seconds(3600))
    /// Who has lost its session is lost.
    static let hasty = Self(withSession: .seconds(3600), withoutSession: .milliseconds(300))
}
