internal import Engine
internal import Loop
internal import Synchronization

/// A connection by which a node looks at the others, with a thread that waits for it.
final class NodeWatch: Sendable {
    /// How much time counts between two looks, which come every two seconds at rest.
    private static let longestLook = Duration.seconds(3)

    private struct State {
        var connection: Connection?
        /// What is known of the other nodes' silence. As long as this one could not look itself it
        /// holds nothing against them.
        var others: [NodeID: WatchedGateway] = [:]
    }

    /// A node that has given no sign of life for too long.
    struct Lost: Sendable {
        let node: NodeID
        let holder: [UInt8]
        /// Whether it has a session, which was ended.
        let hadSession: Bool
    }

    private let address: DatabaseAddress
    private let patience: Patience
    private let silence: DatabaseLock.Silence
    private let node: NodeID
    private let thread = FileThreads(count: 1)
    private let state = Mutex(State())
    private let waker: Waker

    /// Nothing is connected yet.
    ///
    /// - Parameters:
    ///   - address: of the database.
    ///   - patience: for the server.
    ///   - silence: after which a node counts as lost.
    ///   - node: which one looks.
    /// - Throws: `failed` where the process has no descriptor left.
    init(
        _ address: DatabaseAddress, _ patience: Patience, _ silence: DatabaseLock.Silence,
        of node: NodeID
    ) throws(StoreError) {
        self.address = address
        self.patience = patience
        self.silence = silence
        self.node = node
        waker = try Waker()
    }

    /// Waits until there is a hint that something has changed, and looks. Sessions of nodes that
    /// hang are ended.
    ///
    /// - Parameter limit: how long it waits at most; `.zero` for not at all.
    /// - Returns: What it has seen, and who is lost.
    /// - Throws: `away`; `failed` once the store is closed.
    func look(waiting limit: Duration) async throws(StoreError) -> (NodeSight, [Lost]) {
        let result: Result<(NodeSight, [Lost]), StoreError> =
            await withCheckedContinuation { continuation in
                thread.submit { [self] in
                    continuation.resume(returning: state.withLock { attempts(&$0, limit) })
                }
            }
        return try result.get()
    }

    /// Lets a look that waits go on, or else the next one.
    func endWait() { waker.wake() }

    /// Ends what waits, and closes the connection.
    func close() async {
        endWait()
        await withCheckedContinuation { continuation in
            thread.submit { [self] in
                state.withLock { $0 = State() }
                continuation.resume()
            }
        }
    }

    private func attempts(
        _ state: inout State, _ limit: Duration
    ) -> Result<(NodeSight, [Lost]), StoreError> {
        let deadline = ContinuousClock.now + limit
        var backOff: BackOff?
        while true {
            guard !patience.closing.hasBegun else {
                return .failure(.failed("The store is closed."))
            }
            do throws(StoreError) {
                let connection = try connected(&state)
                do throws(StoreError) {
                    connection.startAgain()
                    if limit > .zero {
                        try connection.awaitNotice(or: waker, until: deadline)
                    }
                    // After a wait, however long it was.
                    backOff = backOff ?? BackOff(for: DatabaseConnections.patience)
                    return .success(try look(connection, &state))
                } catch {
                    connection.rollBack()
                    guard let trouble = connection.trouble else { return .failure(error) }
                    if trouble == .lost { state = State() }
                    throw error
                }
            } catch {
                guard case .away = error else { return .failure(error) }
                var pause = backOff ?? BackOff(for: DatabaseConnections.patience)
                guard !patience.closing.hasBegun, pause.wait() else { return .failure(error) }
                backOff = pause
            }
        }
    }

    private func connected(_ state: inout State) throws(StoreError) -> Connection {
        if let connection = state.connection { return connection }
        let connection = try Connection(address, patience)
        try SessionSettings.apply(to: connection)
        try NodeRows.listen(connection)
        state.connection = connection
        return connection
    }

    private func look(
        _ connection: Connection, _ state: inout State
    ) throws(StoreError) -> (NodeSight, [Lost]) {
        let sight = try NodeSight(connection)
        var lost: [Lost] = []
        var others: [NodeID: WatchedGateway] = [:]
        for other in sight.nodes where other.record.id != node {
            guard let holder = other.holder else { continue }
            let id = other.record.id
            var watched = state.others[id] ?? WatchedGateway(longestLook: Self.longestLook)
            watched.look(
                at: OtherGateway(name: holder, seen: other.seen, activity: other.activity))
            others[id] = watched
            if other.activity == nil, watched.hasLeft(silence) {
                lost.append(Lost(node: id, holder: holder, hadSession: false))
            } else if watched.hangs(silence) {
                lost.append(Lost(node: id, holder: holder, hadSession: true))
            }
        }
        state.others = others
        for one in lost where one.hadSession {
            try DatabaseLock(.node(one.node)).endSession(of: one.holder, by: connection)
        }
        return (sight, lost)
    }
}
