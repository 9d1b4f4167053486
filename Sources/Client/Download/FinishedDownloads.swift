internal import Glibc
internal import JSON
internal import Synchronization

/// What a command for several files has brought, so that another command for the same files,
/// should this one be interrupted or fail for one of them, does not take them for somebody else's.
///
/// A file of this user alone in `unfinished` of the `StateFolder`, with a line of JSON for each;
/// it goes away with the command that has brought all. Any thread may use it.
public final class FinishedDownloads: Sendable {
    private let path: String
    private let folder: String
    private let entries: Mutex<[String: Entry]>

    /// A file that is there.
    struct Entry: Equatable {
        var receipt: DownloadReceipt
        /// Whether the command that the user wants to be run for it has been.
        var isComplete: Bool
        fileprivate var identity: FileIdentity
    }

    /// How long the file of a command is kept that is never given again, in seconds.
    private static let lifetime = 30 * 86_400

    /// What a command for these files, given in `folder`, has brought before; nil where there is no
    /// place to keep it. How they are fetched, and in which order, does not count. Blocks.
    public init?(of orders: [DownloadOrder], in folder: String, environment: [String: String]) {
        guard let state = try? StateFolder.made(environment) else { return nil }
        let place = state + "/unfinished"
        guard (try? LocalFile.makeFolder(place)) != nil else { return nil }
        // What is to be checked, or done with each, is not done by having been brought.
        let files = orders.map { order in
            """
            \(order.url)
            \(order.output ?? "")
            \(order.replacesFile) \(order.completion != nil) \(order.expectedDigest ?? "")
            """
        }.sorted()
        let key = ([folder] + files).joined(separator: "\n")
        self.folder = folder
        path = "\(place)/\(FinishedDownloads.hash(key))"
        FinishedDownloads.sweep(place)
        // What cannot be read is as good as nothing: its files are refused as anybody's are.
        let bytes = try? LocalFile.read(path, limit: 64 << 20, onlyOwn: true)
        var found: [String: Entry] = [:]
        for line in (bytes ?? []).split(separator: UInt8(ascii: "\n")) {
            guard let json = try? JSONValue(parsing: Array(line)), let entry = Entry(json),
                let order = json["order"]?.string
            else { continue }
            found[order] = entry
        }
        entries = Mutex(found)
    }

    /// The file that an earlier command has brought for `order`, if it is still what it was.
    func entry(for order: DownloadOrder) -> Entry? {
        guard order.continues else { return nil }
        let found = entries.withLock { $0[order.url] }
        guard let found, FileIdentity(absolute(found.receipt.path)) == found.identity else {
            return nil
        }
        return found
    }

    /// Notes what `order` has brought.
    func note(_ receipt: DownloadReceipt, of order: DownloadOrder, isComplete: Bool) {
        guard let identity = FileIdentity(absolute(receipt.path)) else { return }
        let entry = Entry(receipt: receipt, isComplete: isComplete, identity: identity)
        let line = entry.line(of: order.url)
        entries.withLock { entries in
            entries[order.url] = entry
            // A line at a time: the same command may run twice.
            let descriptor = open(
                path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            // Where there is no room for it the files are fetched, and only not remembered.
            _ = line.withUnsafeBytes { LocalFile.writeAll($0, to: descriptor) }
        }
    }

    /// Forgets it all: the command has brought everything.
    public func forget() {
        entries.withLock { $0 = [:] }
        _ = unlink(path)
    }

    private func absolute(_ file: String) -> String {
        file.hasPrefix("/") ? file : folder + "/" + file
    }

    /// Takes away what was left by commands that are long forgotten.
    private static func sweep(_ place: String) {
        guard let stream = opendir(place) else { return }
        defer { closedir(stream) }
        let now = time(nil)
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            guard name.utf8.count == 16, stat("\(place)/\(name)", &status) == 0,
                now - status.st_mtim.tv_sec > lifetime
            else { continue }
            _ = unlink("\(place)/\(name)")
        }
    }

    /// FNV-1a of 64 bits, in 16 digits: the same on every start, unlike Swift's own.
    private static func hash(_ text: String) -> String {
        let value = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// What a file is that nobody has changed or replaced.
private struct FileIdentity: Equatable {
    var node: UInt64
    var size: Int64
    /// In nanoseconds since 1970.
    var modified: Int64

    /// That of a file; nil for anything else.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        node = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    init?(_ json: JSONValue) {
        guard let node = json["node"]?.string.flatMap({ UInt64($0) }),
            let size = json["size"]?.int64, let modified = json["modified"]?.int64
        else { return nil }
        (self.node, self.size, self.modified) = (node, size, modified)
    }
}

extension FinishedDownloads.Entry {
    fileprivate init?(_ json: JSONValue) {
        guard let identity = FileIdentity(json), let task = json["task"]?.string,
            let url = json["url"]?.string, let file = json["file"]?.string,
            let status = json["status"]?.int64, let isComplete = json["isComplete"]?.bool
        else { return nil }
        self.identity = identity
        self.isComplete = isComplete
        receipt = DownloadReceipt(
            task: task, url: url, path: file, status: Int(status), length: identity.size,
            fetched: 0, digest: json["digest"]?.string, elapsed: .zero)
    }

    fileprivate func line(of order: String) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("order", order)
            json.member("task", receipt.task)
            json.member("url", receipt.url)
            json.member("file", receipt.path)
            json.member("status", receipt.status)
            json.member("digest", receipt.digest)
            json.member("isComplete", isComplete)
            json.member("node", String(identity.node))
            json.member("size", identity.size)
            json.member("modified", identity.modified)
        }
        return json.finish() + [UInt8(ascii: "\n")]
    }
}
