internal import Engine
internal import Records
internal import Semantics

/// Writes the rows of sessions.
struct SessionRows {
    let connection: Connection
    let sealer: any Sealer

    /// Writes sessions, new or changed; of those whose rows are there only what may change.
    func save(_ sessions: [SessionRecord], known: Set<SessionID>) throws {
        try change(sessions.filter { known.contains($0.id) })
        try insert(sessions.filter { !known.contains($0.id) })
    }

    private func change(_ sessions: [SessionRecord]) throws {
        guard !sessions.isEmpty else { return }
        try connection.send(
            """
            UPDATE session SET state = new.state, description = new.description,
                invalidated_at = new.invalidated_at, last_sequence = new.last_sequence,
                last_task_number = new.last_task_number,
                maximum_bytes_per_second = new.maximum_bytes_per_second,
                owes_finish = new.owes_finish, known_leaves = new.known_leaves,
                metadata = new.metadata
            FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS new (id, state, description,
                invalidated_at, last_sequence, last_task_number, maximum_bytes_per_second,
                owes_finish, known_leaves, metadata)
            WHERE session.id = new.id
            """, columns(of: sessions))
    }

    private func columns(of sessions: [SessionRecord]) -> [Parameter] {
        [
            .numbers(sessions.map(\.id.rawValue)), .texts(sessions.map(\.state.rawValue)),
            .chunks(of: sessions.map(\.description)),
            .numbers(sessions.map(\.invalidatedAt?.milliseconds)),
            .numbers(sessions.map(\.lastSequence)),
            .numbers(sessions.map { Int64($0.lastTaskNumber) }),
            .numbers(sessions.map(\.maximumBytesPerSecond)), .flags(sessions.map(\.owesFinish)),
            .chunks(sessions.map { KnownLeaf.bytes(of: $0.knownLeaves) }),
            .chunks(sessions.map { RecordWriter.column(of: $0.metadata) }),
        ]
    }

    private func insert(_ sessions: [SessionRecord]) throws {
        guard !sessions.isEmpty else { return }
        var constants: [[UInt8]] = []
        var secrets: [[UInt8]?] = []
        for session in sessions {
            var parts = RecordParts()
            SessionConstants.write(session, to: &parts)
            constants.append(parts.clear.bytes)
            secrets.append(
                try sealer.sealIfPresent(
                    parts.secret, for: .constants(of: session.id, tenant: session.tenant)))
        }
        try connection.send(
            """
            INSERT INTO session (id, state, description, invalidated_at, last_sequence,
                last_task_number, maximum_bytes_per_second, owes_finish, known_leaves, metadata,
                tenant, type, created_at, constants, secret)
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
            ON CONFLICT (id) DO UPDATE SET state = excluded.state,
                description = excluded.description, invalidated_at = excluded.invalidated_at,
                last_sequence = excluded.last_sequence,
                last_task_number = excluded.last_task_number,
                maximum_bytes_per_second = excluded.maximum_bytes_per_second,
                owes_finish = excluded.owes_finish, known_leaves = excluded.known_leaves,
                metadata = excluded.metadata
            """,
            columns(of: sessions) + [
                .numbers(sessions.map(\.tenant.rawValue)), .texts(sessions.map(\.type.rawValue)),
                .numbers(sessions.map(\.createdAt.milliseconds)), .chunks(constants),
                .chunks(secrets),
            ])
    }
}
