internal import Engine
internal import Loop
internal import Synchronization

/// The connections to a database that read, each with a thread that waits for it.
///
/// While the database is away one read a second looks for it, and all others are told at once.
final class DatabaseReaders: Sendable {
    private static let count = 3
    /// How many reads may wait for a connection.
    private static let queueLength = 1000
    /// How long the database is not looked for once it was away.
    private static let interval = Duration.seconds(1)

    private final class Reader: Sendable {
        struct Held {
            let connection: Connection
            let generation: Int
        }
        let held = Mutex<Held?>(nil)
    }

    /// That the database was away when a read needed it.
    private struct Absence {
        let error: StoreError
        /// When a read may look again; nil while one does.
        var nextLook: ContinuousClock.Instant?
    }

    private let address: DatabaseAddress
    private let patience: Patience
    private let threads = FileThreads(count: count)
    private let readers = (0..<count).map { _ in Reader() }
    private let idle = Mutex(Array(0..<count))
    private let waitingCount = Atomic(0)
    private let absence = Mutex<Absence?>(nil)
    /// Grows when the connections are not to be used any more.
    private let generation = Atomic(0)

    init(_ address: DatabaseAddress, _ patience: Patience) {
        self.address = address
        self.patience = patience
    }

    /// Runs a read of one state of the database.
    ///
    /// - Parameters:
    ///   - mayRepeat: whether it may be done again where the connection was lost.
    ///   - body: reads.
    /// - Returns: What the body returns.
    /// - Throws: what it throws, or `away`.
    func reading<Value: Sendable>(
        mayRepeat: @escaping @Sendable () -> Bool = { true },
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws(StoreError) -> Value {
        let waiting = waitingCount.wrappingAdd(1, ordering: .relaxed).newValue
        guard waiting <= Self.queueLength else {
            waitingCount.wrappingSubtract(1, ordering: .relaxed)
            throw .away("Too many reads wait for the database.")
        }
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            threads.submit { [self] in
                waitingCount.wrappingSubtract(1, ordering: .relaxed)
                continuation.resume(returning: read(mayRepeat, body))
            }
        }
        return try result.get()
    }

    private func read<Value: Sendable>(
        _ mayRepeat: @Sendable () -> Bool, _ body: @Sendable (Connection) throws -> Value
    ) -> Result<Value, StoreError> {
        guard !patience.closing.hasBegun else { return .failure(.failed("The store is closed.")) }
        // There are as many threads as readers.
        guard let index = idle.withLock({ $0.popLast() }) else {
            return .failure(.failed("There is no connection for a read."))
        }
        defer { idle.withLock { $0.append(index) } }
        let limit: Duration
        do throws(StoreError) {
            limit = try enter()
        } catch {
            return .failure(error)
        }
        let result = readers[index].held.withLock { held in
            let backOff = BackOff(for: limit, unlessLongerThan: patience.answer)
            return attempts(&held, backOff, mayRepeat, body)
        }
        if case .failure(.away(let words)) = result {
            // The others' connections are hardly any better.
            generation.wrappingAdd(1, ordering: .acquiringAndReleasing)
            note(Absence(error: .away(words), nextLook: ContinuousClock.now + Self.interval))
        } else {
            note(nil)
        }
        return result
    }

    /// For how long a read tries: not at all while it is known that the database is away, and once
    /// where it looks whether it still is.
    private func enter() throws(StoreError) -> Duration {
        let known: StoreError? = absence.withLock { absence in
            guard let due = absence?.nextLook, due <= .now else { return absence?.error }
            absence?.nextLook = nil
            return nil
        }
        if let known { throw known }
        return absence.withLock { $0 == nil } ? DatabaseConnections.patience : .zero
    }

    private func note(_ new: Absence?) { absence.withLock { $0 = new } }

    private func attempts<Value: Sendable>(
        _ held: inout Reader.Held?, _ backOff: BackOff, _ mayRepeat: @Sendable () -> Bool,
        _ body: @Sendable (Connection) throws -> Value
    ) -> Result<Value, StoreError> {
        var backOff = backOff
        while true {
            let error: StoreError
            do {
                let connection = try connected(&held)
                do {
                    connection.startAgain()
                    try connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    let value = try body(connection)
                    try connection.commit()
                    return .success(value)
                } catch let thrown {
                    error = StoreError(any: thrown)
                    connection.rollBack()
                    guard let trouble = connection.trouble else { return .failure(error) }
                    if trouble == .lost { held = nil }
                }
            } catch let thrown {
                error = StoreError(any: thrown)
                guard case .away = error else { return .failure(error) }
            }
            guard !patience.closing.hasBegun, mayRepeat(), backOff.wait() else {
                return .failure(error)
            }
        }
    }

    private func connected(_ held: inout Reader.Held?) throws(StoreError) -> Connection {
        let generation = generation.load(ordering: .acquiring)
        if let held, held.generation == generation { return held.connection }
        held = nil
        let connection = try Connection(address, patience)
        try SessionSettings.apply(to: connection)
        held = Reader.Held(connection: connection, generation: generation)
        return connection
    }

    /// The database has been found where it was not known to be.
    func databaseIsThere() { note(nil) }

    /// The writer has another connection, and may have another server: reads have to follow it.
    func renew() {
        generation.wrappingAdd(1, ordering: .acquiringAndReleasing)
        databaseIsThere()
    }

    /// Closes the connections that have nothing to do: the next read opens one anew.
    func releaseMemory() {
        idle.withLock { idle in
            for index in idle { readers[index].held.withLock { $0 = nil } }
        }
    }
}
