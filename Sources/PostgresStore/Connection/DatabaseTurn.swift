internal import Engine
internal import Glibc

/// How a gateway comes by a database that another one may have.
enum DatabaseTurn {
    /// Waits for so long for the connection of a gateway that was killed to be noticed.
    case now(patience: Duration)
    /// Waits until the other gateway has ended, or has given no sign of life for too long, and
    /// comes again where the server was away meanwhile. `whileWaiting` is called before each wait;
    /// `check` with the first connection: what is wrong is known before the gateway is needed.
    case next(
        DatabaseLock.Silence, whileWaiting: @Sendable () -> Void,
        check: @Sendable (Connection) throws(StoreError) -> Void)

    /// Opens a connection, and has the lock by it.
    ///
    /// - Parameters:
    ///   - lock: what this gateway has the database by.
    ///   - address: of the database.
    ///   - waiting: for how long, and until when.
    ///   - begin: what follows at once, with the connection: who waits for the next turn waits on
    ///     where it is lost meanwhile.
    /// - Returns: The connection.
    /// - Throws: `failed` where another gateway has the database, or the wait was ended; `away`
    ///   where there is no connection to begin with; what `begin` throws.
    func take(
        _ lock: DatabaseLock, at address: DatabaseAddress, _ waiting: Patience,
        begin: (Connection) throws(StoreError) -> Void
    ) throws(StoreError) -> sending Connection {
        var connection = try Connection(address, waiting)
        switch self {
        case .now(let patience):
            try lock.acquire(connection, within: patience)
            try begin(connection)
        case .next(let silence, let whileWaiting, let check):
            try check(connection)
            while true {
                do throws(StoreError) {
                    let hasTurn = try lock.awaitTurn(
                        connection, silence, until: waiting.closing,
                        whileWaiting: whileWaiting)
                    guard hasTurn else { throw .failed(Self.ended) }
                    try begin(connection)
                    return connection
                } catch {
                    guard case .away = error else { throw error }
                    usleep(DatabaseLock.turnPause)
                    connection = try reconnected(address, waiting)
                }
            }
        }
        return connection
    }

    private func reconnected(
        _ address: DatabaseAddress, _ waiting: Patience
    ) throws(StoreError) -> sending Connection {
        // A day: whoever operates the gateway has long been told that the database is away.
        var backOff = BackOff(for: .seconds(86_400))
        while true {
            do throws(StoreError) {
                return try Connection(address, waiting)
            } catch {
                guard case .away = error else { throw error }
                guard !waiting.closing.hasBegun, backOff.wait() else { throw .failed(Self.ended) }
            }
        }
    }

    private static let ended = "The wait for the database was ended."
}
