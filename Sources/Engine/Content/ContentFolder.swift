internal import Files
internal import Glibc
public import Semantics

/// Where contents, staged files and stored responses lie: `<folder>/<two digits>/<id>`, their
/// series behind it where they have one (`ContentName`), `.part` while they grow, and
/// `.<tenant>.kept` for the part of a download that resume data speaks of (S-34): whose it is no
/// row may tell. Before there were tenants it was `.kept` alone.
///
/// Every call but those for paths blocks and belongs on a file thread.
public struct ContentFolder: Sendable {
    /// The folder's own path, without a final slash.
    public let path: String

    /// fdatasync(2), with its result and `errno`.
    let sync: @Sendable (CInt) -> CInt

    /// - Parameter path: an absolute path; made by `prepare()`.
    public init(path: String) { self.init(path: path, sync: { fdatasync($0) }) }

    /// A folder whose files are brought to the disk in another way.
    init(path: String, sync: @escaping @Sendable (CInt) -> CInt) {
        self.path = path
        self.sync = sync
    }

    /// Makes the folder and its 32 parts, for the owner only.
    /// - Throws: `FileError`.
    public func prepare() throws {
        try makeFolder(path)
        for part in 0..<32 { try makeFolder(path + "/" + ContentFolder.name(part)) }
    }

    func path(of id: any Identifier) -> String { "\(path)/\(ContentFolder.name(of: id))" }

    /// Where a whole content lies below the folder, or below another place that is laid out so.
    public static func name(of id: any Identifier) -> String {
        "\(name(part(of: id)))/\(id)"
    }

    /// Which of the 32 parts has the files of an owner.
    private static func part(of id: any Identifier) -> Int { Int(id.rawValue & 31) }

    /// Where one of the 32 parts lies.
    public func path(ofPart part: Int) -> String { path + "/" + ContentFolder.name(part) }

    /// Where a file of an owner lies, or would.
    public func path(of id: any Identifier, _ kind: ContentKind) -> String {
        path(of: id) + kind.rawValue
    }

    func partPath(of id: any Identifier) -> String { path(of: id, .part) }

    /// Where a part lies that resume data speaks of; without a tenant, as it did once.
    func keptPath(of task: TaskID, in tenant: TenantID?) -> String {
        path(of: task) + ContentFolder.suffix(.kept, of: tenant)
    }

    /// Where a file lies that was found here, or its copy in another folder.
    public func path(of entry: ContentEntry) -> String {
        entry.kind == .whole
            ? path(of: entry.name)
            : path(of: entry.owner.id) + ContentFolder.suffix(entry.kind, of: entry.tenant)
    }

    /// Where a whole content lies.
    func path(of content: ContentName) -> String { "\(path)/\(content.path)" }

    private static func suffix(_ kind: ContentKind, of tenant: TenantID?) -> String {
        (tenant.map { ".\($0.rawValue)" } ?? "") + kind.rawValue
    }

    /// Removes a content and what is growing of its owner; nothing is fine too. What resume data
    /// speaks of stays.
    func removeAll(of content: ContentName) throws {
        try remove(path(of: content))
        try remove(content.owner.id, .part)
    }

    /// Removes one file; nothing is fine too.
    /// - Throws: `FileError`.
    public func remove(_ id: any Identifier, _ kind: ContentKind) throws {
        try remove(path(of: id, kind))
    }

    /// Removes a file that was found here; nothing is fine too.
    /// - Throws: `FileError`.
    public func remove(_ entry: ContentEntry) throws { try remove(path(of: entry)) }

    /// The same of several, which are gone for good when it returns.
    func removeForGood(_ entries: [ContentEntry]) throws {
        for entry in entries { try remove(entry) }
        for part in Set(entries.map { Self.part(of: $0.owner.id) }) {
            try Folder.sync(path(ofPart: part))
        }
    }

    private func remove(_ path: String) throws {
        if unlink(path) != 0, errno != ENOENT { throw FileError("unlink", code: errno) }
    }

    /// Keeps the part of a download that has ended for another one that will go on with it, cut at
    /// its length. The file's time of modification tells since when. It may be whole already, where
    /// the last process has ended before that was recorded.
    /// - Returns: false where there is none.
    func keep(
        _ task: TaskID, in tenant: TenantID, length: Int64, since instant: KeptTime
    ) throws -> Bool {
        let (part, kept) = (partPath(of: task), keptPath(of: task, in: tenant))
        if access(kept, F_OK) != 0 { try reopen(task) }
        var status = stat()
        if stat(part, &status) == 0, status.st_size > length, truncate(part, off_t(length)) != 0 {
            throw FileError("truncate", code: errno)
        }
        let (seconds, rest) = instant.milliseconds.quotientAndRemainder(dividingBy: 1000)
        let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest) * 1_000_000)
        if utimensat(AT_FDCWD, part, [time, time], 0) != 0, errno != ENOENT {
            throw FileError("utimensat", code: errno)
        }
        if rename(part, kept) == 0 { return true }
        guard errno == ENOENT else { throw FileError("rename", code: errno) }
        return access(kept, F_OK) == 0
    }

    /// Makes the part of one download that of another one of its tenant. Its own may be whole
    /// already, where the last process has ended before that was recorded.
    /// - Returns: its length in bytes; nil where there is none, or not any more.
    func take(_ part: TaskID, in tenant: TenantID, as task: TaskID) throws -> Int64? {
        let target = partPath(of: task)
        let sources = [
            keptPath(of: part, in: tenant), keptPath(of: part, in: nil), partPath(of: part),
        ]
        for source in sources where source != target {
            if rename(source, target) == 0 { break }
            guard errno == ENOENT else { throw FileError("rename", code: errno) }
        }
        if part == task { try reopen(task) }
        var status = stat()
        guard stat(target, &status) == 0 else {
            guard errno == ENOENT else { throw FileError("stat", code: errno) }
            return nil
        }
        return Int64(status.st_size)
    }

    /// Makes a whole content a part again, unless there is one; nothing is fine too.
    func reopen(_ id: any Identifier) throws {
        guard try length(of: id, .part) == nil else { return }
        if rename(path(of: id), partPath(of: id)) != 0, errno != ENOENT {
            throw FileError("rename", code: errno)
        }
    }

    /// Gives a whole content a second name, which stays when the first one goes.
    func link(_ source: ContentName, as target: ContentName) throws {
        guard Glibc.link(path(of: source), path(of: target)) == 0 else {
            throw FileError("link", code: errno)
        }
    }

    /// Whether there is not a single file here, or not even the folder. Looks for the first one
    /// only.
    /// - Throws: `FileError`.
    public func isEmpty() throws -> Bool {
        for part in 0..<32 {
            guard let folder = opendir(path + "/" + ContentFolder.name(part)) else {
                guard errno == ENOENT else { throw FileError("opendir", code: errno) }
                continue
            }
            defer { closedir(folder) }
            errno = 0
            while let entry = readdir(folder) {
                // The folder itself and its parent begin with a dot.
                if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { return false }
            }
            guard errno == 0 else { throw FileError("readdir", code: errno) }
        }
        return true
    }

    /// All files here of some kinds.
    func entries(_ kinds: Set<ContentKind>) throws -> [ContentEntry] {
        var found: [ContentEntry] = []
        try forEachEntry(kinds) { found.append($0) }
        return found
    }

    /// Goes over all files of some kinds, in no order; the body may remove or move the one that it
    /// is given.
    /// - Throws: `FileError`, and what the body throws.
    public func forEachEntry(
        _ kinds: Set<ContentKind> = Set(ContentKind.allCases),
        _ body: (ContentEntry) throws -> Void
    ) throws {
        for part in 0..<32 {
            let parent = path + "/" + ContentFolder.name(part)
            _ = try Folder.forEachName(in: parent) { name in
                if kinds.contains(ContentFolder.kind(name)),
                    let entry = ContentFolder.entry(name, in: parent)
                {
                    try body(entry)
                }
            }
        }
    }

    /// The names of the files in one of the parts that begin in a certain way.
    func names(in parent: String, beginningWith start: String) throws -> [String] {
        var names: [String] = []
        let isThere = try Folder.forEachName(in: parent) { name in
            if name.hasPrefix(start) { names.append(name) }
        }
        guard isThere else { throw FileError("opendir", code: ENOENT) }
        return names
    }

    /// The length of a file in bytes; nil where there is none.
    /// - Throws: `FileError`.
    public func length(of id: any Identifier, _ kind: ContentKind) throws -> Int64? {
        try length(path(of: id, kind))
    }

    /// The length of a whole content in bytes; nil where there is none.
    func length(of content: ContentName) throws -> Int64? { try length(path(of: content)) }

    /// The length in bytes of a file that was found here; nil where it is gone.
    /// - Throws: `FileError`.
    public func length(of entry: ContentEntry) throws -> Int64? { try length(path(of: entry)) }

    private func length(_ path: String) throws -> Int64? {
        var status = stat()
        if stat(path, &status) == 0 { return Int64(status.st_size) }
        guard errno == ENOENT else { throw FileError("stat", code: errno) }
        return nil
    }

    /// Moves what there is of a content, whole or growing, to another folder of this file system.
    /// - Throws: `FileError`.
    public func move(_ id: any Identifier, to folder: String) throws {
        for kind in [ContentKind.whole, .part] {
            let source = path(of: id, kind)
            guard rename(source, "\(folder)/\(id)\(kind.rawValue)") != 0, errno != ENOENT else {
                continue
            }
            throw FileError("rename", code: errno)
        }
    }

    private static func kind(_ name: String) -> ContentKind {
        ContentKind.allCases.first { !$0.rawValue.isEmpty && name.hasSuffix($0.rawValue) } ?? .whole
    }

    private static func entry(_ name: String, in parent: String) -> ContentEntry? {
        let kind = kind(name)
        let stem = name.dropLast(kind.rawValue.utf8.count).split(
            separator: ".", omittingEmptySubsequences: false)
        guard let id = stem.first, let owner = ContentOwner(String(id)) else { return nil }
        var tenant: TenantID?
        var series: Int64?
        if kind == .whole {
            guard let name = ContentName(name) else { return nil }
            series = name.series
        } else if kind == .ahead {
            guard stem.count == 3 else { return nil }
        } else if stem.count > 1 {
            guard kind == .kept, stem.count == 2, let number = Int64(stem[1]) else { return nil }
            tenant = TenantID(rawValue: number)
        }
        var status = stat()
        guard stat(parent + "/" + name, &status) == 0 else { return nil }  // gone meanwhile
        let modified =
            Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
        // A file with holes takes less than it is long.
        let length = min(Int64(status.st_size), Int64(status.st_blocks) * 512)
        return ContentEntry(
            owner: owner, kind: kind, series: series, modified: KeptTime(milliseconds: modified),
            tenant: tenant, length: length)
    }

    private func makeFolder(_ path: String) throws {
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw FileError("mkdir", code: errno) }
    }

    private static func name(_ part: Int) -> String {
        part < 10 ? "0\(part)" : "\(part)"
    }
}
