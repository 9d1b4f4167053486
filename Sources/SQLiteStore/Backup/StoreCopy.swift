public import Engine
internal import GRDB
internal import Glibc
internal import Records
internal import Semantics

/// The database of a folder beside a gateway that may use it, or a copy of one: the rows that tell
/// of files. Needs no key. All of it blocks.
public final class StoreCopy {
    private let queue: DatabaseQueue

    /// Opens a database to read it, as it is at each call.
    /// - Throws: `failed`, also where another version of Ferry has made the tables; `damaged`.
    public init(reading path: String) throws(StoreError) {
        do {
            var configuration = Configuration.store
            configuration.readonly = true
            configuration.busyMode = .timeout(10)
            queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.read { try Schema.requireThisVersion(of: $0) }
        } catch {
            throw StoreError(error)
        }
    }

    /// Writes the database as it is at one moment to a new file of mode 0600, down to the disk.
    /// Whoever writes to it is not held up, but for the log, which grows meanwhile.
    /// - Throws: `full`, `failed`, `damaged`.
    public func copy(to target: String) throws(StoreError) {
        let file = open(target, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw .failed("\(target): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        do {
            try queue.inDatabase { try $0.execute(sql: "VACUUM INTO ?", arguments: [target]) }
        } catch {
            throw StoreError(error)
        }
        guard fsync(file) == 0 else { throw .failed("fsync: \(String(cString: strerror(errno)))") }
    }

    /// Goes over the files that rows tell of, in no order. Rows that are damaged tell of none.
    public func forEachFile(_ body: (NamedFile) throws -> Void) throws {
        try queue.read { database in
            for table in NamedFiles.Table.allCases {
                try PreparedStatement(database, table.columns).forEachRow {
                    row throws(StoreError) in
                    guard let file = NamedFiles.file(row, in: table) else { return true }
                    do { try body(file) } catch { throw StoreError(error) }
                    return true
                }
            }
        }
    }

    /// What the row of an owner tells of; nil where there is no such row, or it tells of no file.
    public func file(of owner: ContentOwner) throws(StoreError) -> NamedFile? {
        do {
            return try queue.read { database in
                let table = NamedFiles.Table(owner)
                let statement = try PreparedStatement(
                    database, table.columns + " AND \(table.key) = ?1")
                statement.bind(1, owner.id.rawValue)
                return try statement.first { NamedFiles.file($0, in: table) } ?? nil
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// Whether a part that another state of the database tells of is still of the same entity here,
    /// and has not become less: what lay in its file then lies there now.
    public func continues(_ part: NamedFile) throws(StoreError) -> Bool {
        guard let point = part.point else { return try file(of: part.owner) != nil }
        do {
            return try queue.read { database in
                let statement = try PreparedStatement(
                    database, "SELECT task, status FROM task_status WHERE task = ?1")
                statement.bind(1, part.owner.id.rawValue)
                return try statement.first { row throws(StoreError) in
                    let status = row.bytes(1)
                    let task = TaskID(rawValue: row.int64(0))
                    if let now = try TaskStatus.checkpoint(in: status, of: task)?.point {
                        return now.entity == point.entity
                            && now.receivedCount >= point.receivedCount
                    }
                    let outcome = try TaskStatus.outcome(clear: status, secret: nil, base: "")
                    guard outcome.error == nil, let response = outcome.response else {
                        return false
                    }
                    return EntityValidators(of: response.headers) == point.entity.validators
                } ?? false
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// Takes files out of rows of a copy that nobody has open: their contents were deleted after
    /// the copy was made.
    public static func withdraw(_ files: [NamedFile], from path: String) throws(StoreError) {
        guard !files.isEmpty else { return }
        do {
            let queue = try DatabaseQueue(path: path)
            try queue.write { database in
                for file in files { try NamedFiles(database: database).withdraw(file.owner) }
            }
            try queue.close()
        } catch {
            throw StoreError(error)
        }
    }
}
