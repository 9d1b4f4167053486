internal import GRDB
internal import Records
internal import Semantics

/// What a batch changes of the number of tasks that each session has in each state; written once a
/// batch. What a task's removal changes, a trigger counts.
///
/// A trigger for the other changes would cost more than all else of a small task: a statement that
/// fires one may fail half way, so SQLite first copies every page that it writes into a statement
/// journal (<https://sqlite.org/tempfiles.html>).
struct TaskCounts {
    private struct Key: Hashable {
        let session: SessionID
        let state: StoredState
    }

    private var differences: [Key: Int64] = [:]

    /// A task begins to be in a state.
    mutating func enter(_ state: StoredState, in session: SessionID) {
        differences[Key(session: session, state: state), default: 0] += 1
    }

    /// A task is not in a state any more.
    mutating func leave(_ state: StoredState, in session: SessionID) {
        differences[Key(session: session, state: state), default: 0] -= 1
    }

    /// Writes what has changed since the last call.
    mutating func write(to database: Database) throws {
        let statement = try PreparedStatement(
            database,
            """
            INSERT INTO task_count (session, state, count) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET count = count + excluded.count
            """)
        for (key, difference) in differences where difference != 0 {
            statement.bind(1, key.session.rawValue)
            statement.bind(2, key.state.rawValue)
            statement.bind(3, difference)
            try statement.run()
        }
        differences = [:]
    }
}
