internal import Glibc
internal import JSON

/// What a download that could not be finished is taken up from, in a file called `NAME.resume` next
/// to the file that it was to become.
///
/// The file is this user's alone (0600). What the gateway has received stays there; of the bytes
/// that a command has fetched from it, `NAME.part` keeps those that are still of use.
struct ResumeFile: Equatable {
    /// The URL that the download was asked for.
    var url: String
    /// The task that has the transfer, running or completed; nil when it is gone.
    var task: String?
    /// The session that was made for that task alone, and ends with it; nil for `shared`.
    var session: String?
    /// What a new task goes on with, opaque and good for one gateway only (rule S-34).
    var resumeData: String?
    /// How many bytes at the beginning of the part are the beginning of the task's content.
    var partialLength: Int64 = 0

    private static let suffix = ".resume"
    /// Of this file's form; another one is nobody's.
    private static let version: Int64 = 1
    /// More than any gateway's resume data.
    private static let byteLimit = 1 << 20

    /// The file for a download to `target`.
    static func path(for target: String) -> String { target + suffix }

    /// What was left for a download to `target`; nil for nothing, and for a file that is not one of
    /// these.
    ///
    /// - Throws: `file` when a file is there that cannot be read, or that others could have read or
    ///   written.
    static func read(for target: String) throws(ClientError) -> ResumeFile? {
        let path = path(for: target)
        guard let bytes = try LocalFile.read(path, limit: byteLimit, onlyOwn: true),
            let json = json(of: bytes), let url = json["url"]?.string
        else { return nil }
        return ResumeFile(
            url: url, task: json["task"]?.string, session: json["session"]?.string,
            resumeData: json["resumeData"]?.string,
            partialLength: json["partialLength"]?.int64 ?? 0)
    }

    /// Whether a command has left such a file for `target`, though perhaps one that must not be
    /// used: on some file systems everybody can write to everything.
    static func isLeft(for target: String) -> Bool {
        let path = path(for: target)
        let bytes = try? LocalFile.read(path, limit: byteLimit, onlyOwn: false, waits: false)
        return bytes.flatMap { json(of: $0) } != nil
    }

    private static func json(of bytes: [UInt8]) -> JSONValue? {
        guard let json = try? JSONValue(parsing: bytes), json["version"]?.int64 == version,
            json["url"]?.string != nil
        else { return nil }
        return json
    }

    /// Leaves it for a download to `target`.
    ///
    /// - Throws: `file`, also when something else has that name.
    func write(for target: String) throws(ClientError) {
        let path = ResumeFile.path(for: target)
        if PartFile.exists(path), try ResumeFile.read(for: target) == nil {
            throw .file(path: path, detail: "is there already, and none of ferry's")
        }
        try LocalFile.replace(path, with: bytes, mode: 0o600)
    }

    private var bytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("version", ResumeFile.version)
            json.member("url", url)
            json.member("task", task)
            json.member("session", session)
            json.member("resumeData", resumeData)
            json.member("partialLength", partialLength)
        }
        return json.finish() + [UInt8(ascii: "\n")]
    }

    /// Takes away what was left for a download to `target`, if it is one of these.
    static func remove(for target: String) {
        guard (try? read(for: target)) != nil else { return }
        _ = unlink(path(for: target))
    }

    /// The target in a folder that a download of `url` was to become, where it was not given a
    /// name; nil for none. The first by name, should there be more.
    static func target(of url: String, in folder: String) -> String? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var targets: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasSuffix(suffix), name.utf8.count > suffix.utf8.count else { continue }
            let target = (folder == "." ? "" : folder + "/") + name.dropLast(suffix.count)
            // What cannot be read is as good as nothing here: the download gets its name from the
            // server.
            guard let point = try? read(for: target), point.url == url else { continue }
            targets.append(target)
        }
        return targets.min()
    }
}
