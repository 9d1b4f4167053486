internal import Engine
internal import Semantics

/// Gives tenants that no living node has to nodes that take any, inside the transaction that its
/// caller has begun. Several nodes may do so at a time: none waits for rows that another one has
/// locked, and each leaves to the next look what it has not got.
struct Allotment {
    let connection: Connection

    private struct Candidate {
        let node: Int64
        let folder: [UInt8]
        let isDraining: Bool
        var count: Int64
    }

    /// Takes their numbers from nodes that are lost, and gives away what they had.
    func run(without lost: [NodeWatch.Lost]) throws(StoreError) {
        if !lost.isEmpty { try depose(lost) }
        let homeless = try connection.rows(
            """
            SELECT id, parts_at FROM tenant WHERE NOT \(NodeRows.hasNode)
            ORDER BY id FOR UPDATE SKIP LOCKED
            """)
        let candidates = try candidates()
        let tenants = try homeless.map { (id: $0.int64(0), partsAt: $0.bytesOrNil(1)) }
        let nodes = Self.nodes(for: tenants.map(\.partsAt), among: candidates)
        if !nodes.isEmpty {
            // Seen anew: some may have got a node since, which nobody can take away any more.
            try connection.send(
                """
                UPDATE tenant SET node = new.node FROM unnest($1, $2) AS new (id, node)
                WHERE tenant.id = new.id AND NOT \(NodeRows.hasNode)
                """, [.numbers(tenants.map(\.id)), .numbers(nodes)])
        }
        try connection.send(
            """
            DELETE FROM node WHERE id IN
                (SELECT id FROM node WHERE holder IS NULL ORDER BY id FOR UPDATE SKIP LOCKED)
            """)
    }

    /// What they commit from now on is refused. Of those without a session only who has not come
    /// back meanwhile; and whoever is about to commit now has the row locked, and lives.
    private func depose(_ lost: [NodeWatch.Lost]) throws(StoreError) {
        try connection.send(
            """
            WITH free AS MATERIALIZED (
                SELECT node.id, lost.had_session
                FROM node JOIN unnest($1, $2, $3) AS lost (id, holder, had_session)
                    ON lost.id = node.id AND lost.holder = node.holder
                ORDER BY node.id FOR UPDATE OF node SKIP LOCKED
            )
            UPDATE node SET holder = NULL FROM free
            WHERE node.id = free.id AND CASE WHEN free.had_session THEN true
                ELSE pg_try_advisory_xact_lock(
                    hashtextextended('ferry node ' || free.id || ' ' || current_schema(), 0)) END
            """,
            [
                .numbers(lost.map(\.node.rawValue)), .chunks(lost.map(\.holder)),
                .flags(lost.map(\.hadSession)),
            ])
    }

    /// Nodes that take tenants: those that do not drain, unless there is no other.
    private func candidates() throws(StoreError) -> [Candidate] {
        let rows = try connection.rows(
            """
            SELECT id, folder, is_draining,
                (SELECT count(*) FROM tenant WHERE tenant.node = node.id)
            FROM node WHERE holder IS NOT NULL ORDER BY id
            """)
        let living = try rows.map { row in
            Candidate(
                node: row.int64(0), folder: row.bytes(1), isDraining: row.bool(2),
                count: row.int64(3))
        }
        let staying = living.filter { !$0.isDraining }
        return staying.isEmpty ? living : staying
    }

    /// A node for each tenant: the one that has the parts of its downloads, as long as that has not
    /// more than its share, or else one that has fewest.
    private static func nodes(
        for folders: [[UInt8]?], among candidates: [Candidate]
    ) -> [Int64] {
        guard !candidates.isEmpty else { return [] }
        var candidates = candidates
        let total = candidates.reduce(Int64(folders.count)) { $0 + $1.count }
        let share = (total + Int64(candidates.count) - 1) / Int64(candidates.count)
        var chosen = [Int64?](repeating: nil, count: folders.count)
        for (index, folder) in folders.enumerated() {
            guard let folder,
                let place = candidates.firstIndex(where: {
                    $0.folder == folder && $0.count < share
                })
            else { continue }
            candidates[place].count += 1
            chosen[index] = candidates[place].node
        }
        return chosen.map { node in
            if let node { return node }
            let place = candidates.indices.min { candidates[$0].count < candidates[$1].count } ?? 0
            candidates[place].count += 1
            return candidates[place].node
        }
    }
}
