import Engine
import PostgresStore
import SQLiteStore
import Sealing

/// The database of a gateway: a file in its data directory, or one on a server.
enum GatewayStore {
    case file(DurableStore)
    case server(PostgresStore)
    /// The same, shared with others.
    case node(PostgresNode)

    /// Opens the database that the settings name. Blocks.
    ///
    /// - Throws: `StoreError` for a file; `Refusal` for one on a server, in words about it.
    static func open(
        _ settings: ServeSettings, in folder: DataFolder, _ sealer: AESGCMSealer
    ) throws -> GatewayStore {
        guard let url = settings.store else {
            return .file(try DurableStore(folder: folder.root, sealer: sealer))
        }
        let mark = settings.nodeAddress == nil ? nil : try folder.mark()
        do throws(StoreError) {
            if let address = settings.nodeAddress, let mark {
                return .node(
                    try PostgresNode(url: url, sealer: sealer, at: address, folder: mark))
            }
            return .server(try PostgresStore(url: url, sealer: sealer))
        } catch {
            throw Refusal(error, ofDatabaseAt: PostgresStore.place(of: url))
        }
    }

    /// Opens a database on a server as soon as no other gateway has it. Blocks until then.
    ///
    /// - Parameters:
    ///   - url: of the database.
    ///   - sealer: has the key that it was made with.
    ///   - wait: what ends the wait.
    ///   - whileWaiting: called when another gateway has it, again and again.
    /// - Returns: The database; nil where the wait was ended.
    /// - Throws: `Refusal`.
    static func inTurn(
        at url: String, _ sealer: AESGCMSealer, _ wait: DatabaseWait,
        whileWaiting: @escaping @Sendable () -> Void
    ) throws -> GatewayStore? {
        do throws(StoreError) {
            return .server(
                try PostgresStore(
                    url: url, sealer: sealer, inTurn: wait, whileWaiting: whileWaiting))
        } catch {
            if wait.isOver { return nil }
            throw Refusal(error, ofDatabaseAt: PostgresStore.place(of: url))
        }
    }

    /// Has it told when the database is of no use any more, as when another gateway has taken it
    /// over, before anything else is asked of it.
    func tellFailure(to listener: @escaping @Sendable () -> Void) {
        switch self {
        case .file: break
        case .server(let store): store.tellFailure { _ in listener() }
        case .node(let store): store.tellFailure { _ in listener() }
        }
    }

    var store: any Store {
        switch self {
        case .file(let store): store
        case .server(let store): store
        case .node(let store): store
        }
    }

    /// The store as nodes share it; nil for a gateway that has it alone.
    var shared: (any NodeStore)? {
        if case .node(let store) = self { store } else { nil }
    }

    /// Where it is, without a password.
    func place(in folder: DataFolder) -> String {
        switch self {
        case .file: folder.path(DurableStore.fileName)
        case .server(let store): store.place
        case .node(let store): store.place
        }
    }

    /// Whether it tells of files in the folder of the contents.
    func namesFiles() async throws(StoreError) -> Bool {
        switch self {
        case .file(let store): try await store.namesFiles()
        case .server(let store): try await store.namesFiles()
        case .node(let store): try await store.namesFiles()
        }
    }

    /// Waits for what is running.
    func close() async throws(StoreError) {
        switch self {
        case .file(let store): try store.close()
        case .server(let store): await store.close()
        case .node(let store): await store.close()
        }
    }
}

extension Refusal {
    /// Runs the body; what it says of a database on a server is told as `init` does.
    static func atServer<Value>(
        _ url: String, _ body: () throws(StoreError) -> Value
    ) throws(Refusal) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            throw Refusal(error, ofDatabaseAt: PostgresStore.place(of: url))
        }
    }

    /// A database on a server that cannot be used: EX_UNAVAILABLE where it cannot be reached,
    /// EX_CONFIG for another key, else EX_IOERR.
    init(_ error: StoreError, ofDatabaseAt place: String) {
        switch error {
        case .away(let words):
            self.init(
                description: "There is no connection to the database \(place): \(words)", code: 69)
        case .full:
            self.init(description: "The database \(place) has no room on its disk.", code: 74)
        case .damaged(let words):
            self.init(description: "The database \(place): \(words)", code: 78)
        case .failed(let words):
            self.init(
                description: "The database \(place) cannot be used: \(words)", code: 74)
        case .lost:
            self.init(
                description: "Another gateway has taken the database \(place) over.", code: 74)
        }
    }
}
