internal import Diagnostics
internal import Engine
internal import Loop
internal import Synchronization

/// The connections to one database: one that writes, and those that read, each with a thread that
/// waits for it. All of them come again when they were lost.
///
/// Not on the loop, where everything else waits for sockets: records are made and sealed between
/// the statements, and the loop's thread is what a gateway has least of.
final class DatabaseConnections: Sendable {
    /// How long a lost connection, or a transaction that others get in the way of, is tried again
    /// before whoever asked for something is told.
    static let patience = Duration.seconds(2)

    private struct Writer {
        var connection: Connection?
        /// Whether it is known that the database is away.
        var isAway = false
        /// A transaction of which it is not known whether it was committed. The server knows the
        /// newest one only: it is asked before anything else is written.
        var unsettled: [UInt8]?
        /// Whether such transactions were committed, for those who come again.
        var verdicts: [[UInt8]: Bool] = [:]
    }

    let address: DatabaseAddress
    /// What this gateway has the database by, or its place in it.
    let lock: DatabaseLock
    /// For how long it waits for the server.
    let waiting: Patience
    private let writer: Mutex<Writer>
    private let writerThread = FileThreads(count: 1)
    private let readers: DatabaseReaders
    /// Set by the first failure that is no loss: nothing is written any more.
    private let failure = Mutex<StoreError?>(nil)
    /// Told of that failure.
    private let onFailure = Mutex<(@Sendable (StoreError) -> Void)?>(nil)
    /// The newest sign of life that the server has had for certain.
    private let lastSign = Mutex(SignOfLife())
    private let log = Log("store.postgres")

    /// Opens the writer's connection, takes the database for this gateway, and lets `prepare` see
    /// to the tables meanwhile. Blocks.
    init(
        _ address: DatabaseAddress, _ waiting: Patience, _ turn: DatabaseTurn,
        prepare: (Connection) throws(StoreError) -> Void
    ) throws(StoreError) {
        self.address = address
        self.waiting = waiting
        let lock = DatabaseLock()
        self.lock = lock
        readers = DatabaseReaders(address, waiting)
        let connection = try turn.take(lock, at: address, waiting) {
            connection throws(StoreError) in
            try prepare(connection)
            try lock.claim(connection)
        }
        writer = Mutex(Writer(connection: connection))
    }

    /// Opens the writer's connection, lets `prepare` see to the tables, and takes a place among the
    /// nodes. Blocks.
    ///
    /// - Parameters:
    ///   - address: of the database.
    ///   - waiting: for the server.
    ///   - newcomer: who joins the nodes.
    ///   - patience: how long it waits for a gateway that has the database alone, or that had the
    ///     newcomer's folder.
    ///   - prepare: makes the tables.
    /// - Throws: `failed` where a gateway has the database alone, or the newcomer's folder, or all
    ///   places are taken; `away`; what `prepare` throws.
    init(
        _ address: DatabaseAddress, _ waiting: Patience, joining newcomer: Newcomer,
        within patience: Duration, prepare: (Connection) throws(StoreError) -> Void
    ) throws(StoreError) {
        self.address = address
        self.waiting = waiting
        readers = DatabaseReaders(address, waiting)
        let connection = try Connection(address, waiting)
        try DatabaseLock.acquire(DatabasePlace.sharing, connection, within: patience)
        try prepare(connection)
        lock = try newcomer.join(connection, within: patience)
        writer = Mutex(Writer(connection: connection))
    }

    // MARK: Writing

    /// A transaction of which it is not known whether it was committed: the connection was lost
    /// when it had been sent.
    struct UncertainCommit<Value: Sendable>: Sendable {
        fileprivate let name: [UInt8]
        /// What it has answered, if it was.
        fileprivate let value: Value
    }

    /// What has become of a transaction.
    enum Outcome<Value: Sendable>: Sendable {
        case committed(Value)
        /// Nothing of it was done.
        case refused(StoreError)
        /// It is to be asked for again.
        case unknown(UncertainCommit<Value>, StoreError)
    }

    /// Runs a transaction on the writer's thread; it is durable when it is told to be committed.
    ///
    /// - Parameters:
    ///   - uncertain: what an earlier call with the same transaction has left: it is not done again
    ///     where that was committed.
    ///   - body: is called again where the connection was lost, or others got in the way.
    /// - Returns: What has become of it.
    func transaction<Value: Sendable>(
        settling uncertain: UncertainCommit<Value>? = nil,
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async -> Outcome<Value> {
        await withCheckedContinuation { continuation in
            writerThread.submit { [self] in
                var uncertain = uncertain
                let outcome = attempts(&uncertain) { connection, writer, uncertain in
                    try attempt(connection, &writer, &uncertain, body)
                }
                continuation.resume(returning: outcome)
            }
        }
    }

    /// Runs a transaction as `transaction` does, and waits until it is known whether it was
    /// committed, however long that takes.
    func writing<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws(StoreError) -> Value {
        var uncertain: UncertainCommit<Value>?
        while true {
            switch await transaction(settling: uncertain, body) {
            case .committed(let value): return value
            case .refused(let error): throw error
            case .unknown(let unknown, let error):
                guard !waiting.closing.hasBegun else { throw error }
                uncertain = unknown
            }
        }
    }

    /// Does something until it has succeeded, or failed for another reason than that the connection
    /// was lost or others got in the way.
    private func attempts<Value>(
        _ uncertain: inout UncertainCommit<Value>?,
        _ attempt: (Connection, inout Writer, inout UncertainCommit<Value>?) throws -> Value
    ) -> Outcome<Value> {
        writer.withLock { writer in
            var backOff = BackOff(for: Self.patience, unlessLongerThan: waiting.answer)
            while true {
                if let failure = failure.withLock({ $0 }) { return .refused(failure) }
                let error: StoreError
                var trouble = Trouble.lost
                do {
                    let connection = try connected(&writer)
                    do {
                        let value = try attempt(connection, &writer, &uncertain)
                        note(isAway: false, &writer)
                        return .committed(value)
                    } catch let thrown {
                        error = StoreError(any: thrown)
                        connection.rollBack()
                        guard let met = connection.trouble else { return refuse(error) }
                        trouble = met
                        if trouble == .lost {
                            writer.connection = nil
                            lastSign.withLock { $0.hasSession = false }
                        }
                    }
                } catch let thrown {
                    error = StoreError(any: thrown)
                    guard case .away = error else { return refuse(error) }
                }
                if trouble == .lost { note(isAway: true, &writer, error) }
                guard !waiting.closing.hasBegun, backOff.wait() else {
                    return uncertain.map { .unknown($0, error) } ?? .refused(error)
                }
            }
        }
    }

    private func attempt<Value>(
        _ connection: Connection, _ writer: inout Writer,
        _ uncertain: inout UncertainCommit<Value>?,
        _ body: @Sendable (Connection) throws -> Value
    ) throws -> Value {
        let began = ContinuousClock.now
        connection.startAgain()
        try settle(&writer, by: connection)
        if let asked = uncertain {
            uncertain = nil
            if writer.verdicts.removeValue(forKey: asked.name) == true { return asked.value }
        }
        // What the transaction looks at is to be as others have left it.
        try connection.begin("ISOLATION LEVEL READ COMMITTED")
        let value = try body(connection)
        let name = DatabaseLock.random()
        try lock.record(name, by: connection)
        uncertain = UncertainCommit(name: name, value: value)
        writer.unsettled = name
        do {
            try connection.commit()
        } catch {
            // With an answer there is no doubt.
            if connection.trouble != .lost { (uncertain, writer.unsettled) = (nil, nil) }
            throw error
        }
        writer.unsettled = nil
        lastSign.withLock { $0 = SignOfLife(instant: began) }
        return value
    }

    private func settle(_ writer: inout Writer, by connection: Connection) throws(StoreError) {
        guard let name = writer.unsettled else { return }
        writer.verdicts[name] = try lock.hasCommitted(name, by: connection)
        writer.unsettled = nil
    }

    private func connected(_ writer: inout Writer) throws(StoreError) -> Connection {
        if let connection = writer.connection { return connection }
        let connection = try Connection(address, waiting)
        try lock.reacquire(connection)
        writer.connection = connection
        readers.renew()
        return connection
    }

    private func refuse<Value>(_ error: StoreError) -> Outcome<Value> {
        switch error {
        case .failed(let words): end(with: error, words)
        case .lost: end(with: error, "Another gateway has taken the database over.")
        case .full, .away, .damaged: break
        }
        return .refused(error)
    }

    private func end(with error: StoreError, _ words: String) {
        failure.withLock { $0 = error }
        log.write(.error, "nothing is written any more", ["error": .words(words)])
        onFailure.withLock { $0.take() }?(error)
    }

    /// Has the first failure told that is no loss, also where nobody has asked for anything: that
    /// another gateway has taken the database over.
    func tellFailure(to listener: @escaping @Sendable (StoreError) -> Void) {
        let known = failure.withLock { failure in
            if failure == nil { onFailure.withLock { $0 = listener } }
            return failure
        }
        if let known { listener(known) }
    }

    // MARK: Signs of life

    /// A transaction that was committed: the others have seen it after it had begun.
    struct SignOfLife {
        /// When it began: by a clock that goes on while the machine sleeps, as theirs do.
        var instant = ContinuousClock.now
        /// Whether the connection is not known to have been lost since.
        var hasSession = true
    }

    /// The newest sign of life.
    var newestSign: SignOfLife { lastSign.withLock { $0 } }

    /// Gives a sign of life whenever nothing was written for a while. Runs until its task is
    /// cancelled.
    func giveSignsOfLife() async {
        while !Task.isCancelled {
            let beat = DatabaseLock.Silence.beat
            try? await Task.sleep(for: beat)
            guard ContinuousClock.now - newestSign.instant >= beat else { continue }
            await withCheckedContinuation { continuation in
                writerThread.submit { [self] in
                    var none: UncertainCommit<Void>?
                    _ = attempts(&none) { connection, writer, _ in
                        try giveSign(connection, &writer)
                    }
                    continuation.resume()
                }
            }
        }
    }

    private func giveSign(_ connection: Connection, _ writer: inout Writer) throws(StoreError) {
        let began = ContinuousClock.now
        connection.startAgain()
        try settle(&writer, by: connection)
        try lock.giveSign(by: connection)
        lastSign.withLock { $0 = SignOfLife(instant: began) }
    }

    private func note(isAway: Bool, _ writer: inout Writer, _ error: StoreError? = nil) {
        guard writer.isAway != isAway else { return }
        writer.isAway = isAway
        if let error {
            log.write(.warning, "the database is away", ["error": .words("\(error)")])
        } else {
            log.write(.notice, "the database is there again")
        }
    }

    // MARK: Reading

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
        try await readers.reading(mayRepeat: mayRepeat, body)
    }

    // MARK: The end

    /// Closes the connections that read and have nothing to do: the next read opens one anew.
    func releaseMemory() { readers.releaseMemory() }

    /// Closes the connections, once what is running has come to its end, or has heard nothing of
    /// the server for a second. Nothing is written or read any more.
    func close() async {
        waiting.closing.begin()
        await withCheckedContinuation { continuation in
            writerThread.submit { [self] in
                let isOver = failure.withLock { failure in
                    defer { failure = failure ?? .failed("The store is closed.") }
                    return failure != nil
                }
                writer.withLock { writer in
                    if !isOver, let connection = writer.connection { lock.leave(connection) }
                    writer.connection = nil
                }
                continuation.resume()
            }
        }
        releaseMemory()
    }
}
