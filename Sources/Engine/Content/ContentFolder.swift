internal import Glibc
internal import Loop
internal import Semantics

/// Where contents, staged files and stored responses lie: `<folder>/<two digits>/<id>`, `.part` behind it while they
/// grow, and `.kept` for the part of a download that resume data speaks of (S-34).
///
/// Every call but `path`, `partPath` and `keptPath` blocks and belongs on a file thread.
public struct ContentFolder: Sendable {
    /// A file of the folder.
    struct Entry: Sendable {
        let owner: Owner
        /// What of the owner it is.
        let kind: Kind
        /// When it was written last, by the wall clock.
        let modified: Timestamp
    }

    /// Whose file it is.
    enum Owner: Hashable, Sendable {
        case task(TaskID)
        case file(FileID)
        case entry(CacheEntryID)

        var id: any Identifier {
            switch self {
            case .task(let id): id
            case .file(let id): id
            case .entry(let id): id
            }
        }
    }

    enum Kind: String, CaseIterable, Sendable {
        case whole = ""
        case part = ".part"
        case kept = ".kept"
    }

    /// The folder's own path, without a final slash.
    public let path: String

    /// - Parameter path: an absolute path; made by `prepare()`.
    public init(path: String) { self.path = path }

    /// Makes the folder and its 32 parts, for the owner only.
    /// - Throws: `FileError`.
    public func prepare() throws {
        try makeFolder(path)
        for part in 0..<32 { try makeFolder(path + "/" + ContentFolder.name(part)) }
    }

    func path(of id: any Identifier) -> String {
        "\(path)/\(ContentFolder.name(Int(id.rawValue & 31)))/\(id)"
    }

    func partPath(of id: any Identifier) -> String { path(of: id) + Kind.part.rawValue }

    func keptPath(of id: any Identifier) -> String { path(of: id) + Kind.kept.rawValue }

    /// Removes what there is of a content, whole or growing; nothing is fine too. What resume data speaks of stays.
    func remove(_ id: any Identifier) throws {
        try remove(id, .whole)
        try remove(id, .part)
    }

    func remove(_ id: any Identifier, _ kind: Kind) throws {
        if unlink(path(of: id) + kind.rawValue) != 0, errno != ENOENT {
            throw FileError("unlink", code: errno)
        }
    }

    /// Keeps the part of a download that has ended for another one that will go on with it.
    /// - Returns: false where there is none.
    func keep(_ task: TaskID) throws -> Bool {
        if rename(partPath(of: task), keptPath(of: task)) == 0 { return true }
        guard errno == ENOENT else { throw FileError("rename", code: errno) }
        return access(keptPath(of: task), F_OK) == 0
    }

    /// Makes the part of one download that of another.
    /// - Returns: its length in bytes; nil where there is none, or not any more.
    func take(_ part: TaskID, as task: TaskID) throws -> Int64? {
        let target = partPath(of: task)
        for source in [keptPath(of: part), partPath(of: part)] where source != target {
            if rename(source, target) == 0 { break }
            guard errno == ENOENT else { throw FileError("rename", code: errno) }
        }
        var status = stat()
        guard stat(target, &status) == 0 else {
            guard errno == ENOENT else { throw FileError("stat", code: errno) }
            return nil
        }
        return Int64(status.st_size)
    }

    /// Gives the whole content of a task a second name, which stays when the first one goes.
    func link(_ task: TaskID, as response: CacheEntryID) throws {
        guard Glibc.link(path(of: task), path(of: response)) == 0 else {
            throw FileError("link", code: errno)
        }
    }

    /// The content of a stored response; nil where it is gone, or has not the length that it should have.
    func open(_ response: CacheEntryID, length: Int64) throws -> ContentFile? {
        var status = stat()
        guard stat(path(of: response), &status) == 0 else {
            guard errno == ENOENT else { throw FileError("stat", code: errno) }
            return nil
        }
        guard Int64(status.st_size) == length else { return nil }
        return try ContentFile(reading: response, in: self)
    }

    /// All files here.
    func entries() throws -> [Entry] {
        var found: [Entry] = []
        for part in 0..<32 {
            let parent = path + "/" + ContentFolder.name(part)
            guard let folder = opendir(parent) else { throw FileError("opendir", code: errno) }
            defer { closedir(folder) }
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if let entry = ContentFolder.entry(name, in: parent) { found.append(entry) }
            }
        }
        return found
    }

    private static func entry(_ name: String, in parent: String) -> Entry? {
        let kind: Kind = name.hasSuffix(".part") ? .part : name.hasSuffix(".kept") ? .kept : .whole
        let stem = String(name.dropLast(kind.rawValue.utf8.count))
        guard let owner = owner(stem) else { return nil }
        var status = stat()
        guard stat(parent + "/" + name, &status) == 0 else { return nil }  // gone meanwhile
        let modified =
            Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
        return Entry(owner: owner, kind: kind, modified: Timestamp(milliseconds: modified))
    }

    private static func owner(_ name: String) -> Owner? {
        TaskID(name).map(Owner.task) ?? FileID(name).map(Owner.file)
            ?? CacheEntryID(name).map(Owner.entry)
    }

    private func makeFolder(_ path: String) throws {
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw FileError("mkdir", code: errno) }
    }

    private static func name(_ part: Int) -> String {
        part < 10 ? "0\(part)" : "\(part)"
    }
}
