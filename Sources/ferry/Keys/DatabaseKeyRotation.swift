import Engine
import PostgresStore
import Sealing

/// Seals a database on a server with another key (security §5).
///
/// The new key is never put in the old one's place: gateways on several machines have that.
struct DatabaseKeyRotation {
    /// The database.
    let url: String
    let source: KeySource
    let target: KeyRotation.Target

    /// Does it. Blocks.
    ///
    /// - Returns: what the operator has to know, in sentences.
    /// - Throws: `Refusal`, `DataKeyError`; the old key is in force then, or the same command ends
    ///   what has begun.
    func run() throws -> [String] {
        switch target {
        case .inPlace:
            throw Refusal(
                description: """
                    Give the new key as FERRY_NEW_KEY, or name its file with --new-key-file: all \
                    gateways that use a database on a server have its key.
                    """, code: 64)
        case .file(let path):
            return try withDatabase { database in
                let file = try KeyFile(named: path, orNew: true)
                let known = try file.load()
                // No key is made for data that do not open.
                if known == nil { _ = try oldKey(of: database) }
                let key = try known ?? DataKey.loadOrCreate(at: file.path)
                return try rotate(database, to: key, "The key in \(path)")
                    + ["Start the gateways with --key-file \(path)."]
            }
        case .environment(let key):
            return try withDatabase { database in
                try rotate(database, to: key, KeyRotation.variable)
                    + ["Start the gateways with it as \(KeySource.variable)."]
            }
        }
    }

    private func withDatabase(
        _ body: (ResealedDatabase) throws -> [String]
    ) throws -> [String] {
        let database = try Refusal.atServer(url) { () throws(StoreError) in
            try ResealedDatabase(url: url)
        }
        defer { database.leave() }
        return try body(database)
    }

    private func rotate(
        _ database: ResealedDatabase, to key: DataKey, _ name: String
    ) throws -> [String] {
        // Also where an earlier command has got no answer.
        if try isSealed(database, with: key) == true {
            return ["\(name) is what the data in \(database.place) are sealed with."]
        }
        let old = try oldKey(of: database)
        try Refusal.atServer(url) { () throws(StoreError) in
            try database.reseal(from: AESGCMSealer(key: old), to: AESGCMSealer(key: key))
        }
        return [
            "\(name) is what the data in \(database.place) are sealed with now.",
            """
            Copies of it that were made before need the former key, and so does what the server \
            keeps of old rows until its next VACUUM. Resume data that clients have kept is refused \
            from now on: their downloads begin anew.
            """,
        ]
    }

    /// The key of the source, which has been tried.
    private func oldKey(of database: ResealedDatabase) throws -> DataKey {
        let key = try StoreKey.find(source)
        switch try isSealed(database, with: key.key) {
        case true?: return key.key
        case false?:
            let name = key.file.map { "The key in \($0.path)" } ?? KeySource.variable
            throw Refusal(
                description: """
                    \(name) is not the key that the data in \(database.place) are sealed with: name \
                    the right one with --key-file or FERRY_KEY. Nothing has been changed.
                    """, code: 78)
        case nil:
            throw Refusal(
                description: "There are no data of a gateway in \(database.place).", code: 65)
        }
    }

    private func isSealed(_ database: ResealedDatabase, with key: DataKey) throws(Refusal) -> Bool?
    {
        try Refusal.atServer(url) { () throws(StoreError) in
            try database.isSealed(with: AESGCMSealer(key: key))
        }
    }
}
