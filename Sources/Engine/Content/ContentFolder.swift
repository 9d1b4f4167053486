internal import Glibc
internal import Loop
internal import Semantics

/// Where contents lie as files: `<folder>/<two digits>/<task id>`, and `.part` while they grow.
///
/// Every call but `path` blocks and belongs on a file thread.
public struct ContentFolder: Sendable {
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

    func path(of task: TaskID) -> String {
        "\(path)/\(ContentFolder.name(Int(task.rawValue & 31)))/\(task)"
    }

    func partPath(of task: TaskID) -> String { path(of: task) + ".part" }

    /// Removes what is kept of a task; nothing is fine too.
    func remove(_ task: TaskID) throws {
        for path in [path(of: task), partPath(of: task)] {
            if unlink(path) != 0, errno != ENOENT { throw FileError("unlink", code: errno) }
        }
    }

    /// The tasks that have a file here, whole or in part.
    func tasks() throws -> [TaskID] {
        var found: [TaskID] = []
        for part in 0..<32 {
            guard let folder = opendir(path + "/" + ContentFolder.name(part)) else {
                throw FileError("opendir", code: errno)
            }
            defer { closedir(folder) }
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                let stem = name.hasSuffix(".part") ? String(name.dropLast(5)) : name
                if let task = TaskID(stem) { found.append(task) }
            }
        }
        return found
    }

    private func makeFolder(_ path: String) throws {
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw FileError("mkdir", code: errno) }
    }

    private static func name(_ part: Int) -> String {
        part < 10 ? "0\(part)" : "\(part)"
    }
}
