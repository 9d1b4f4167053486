import Foundation
import JSON

/// What a backup holds, in JSON: written file by file, and there only when it is whole.
final class BackupManifest {
    private let path: String
    private let draft: String
    private let output: FileHandle
    /// What goes before the next file.
    private var separator = "\n"

    /// Begins the manifest that is to lie at `path`.
    init(_ path: String) throws {
        self.path = path
        draft = path + ".incomplete"
        guard
            FileManager.default.createFile(
                atPath: draft, contents: Data("{\"files\":[".utf8),
                attributes: [.posixPermissions: 0o600])
        else { throw Refusal(description: "\(draft) cannot be made.", code: 73) }
        output = try FileHandle(forWritingTo: URL(fileURLWithPath: draft))
        try output.seekToEnd()
    }

    /// Adds a file by its path in the backup.
    func add(_ name: String, _ length: Int64, digest: String?) throws {
        var json = JSONWriter(capacity: 128)
        json.object { json in
            json.member("name", name)
            json.member("length", length)
            json.member("digest", digest)
        }
        try output.write(contentsOf: Data(separator.utf8) + json.finish())
        separator = ",\n"
    }

    /// Ends it, and gives it its name.
    func finish(of source: String, hasKey: Bool, missing: [String]) throws {
        var json = JSONWriter(capacity: 256)
        json.object { json in
            json.member("format", "ferry-backup")
            json.member("version", 1)
            json.member("ferry", Ferry.release)
            json.member("createdAt", Date().ISO8601Format())
            json.member("source", source)
            json.member("hasKey", hasKey)
            json.member("missing", missing)
        }
        // The members of the object that was begun with the files.
        let rest = Data("],\n".utf8) + json.finish().dropFirst() + Data("\n".utf8)
        try output.write(contentsOf: rest)
        try output.synchronize()
        try output.close()
        guard rename(draft, path) == 0 else {
            throw Refusal(description: "\(path) cannot be made.", code: 74)
        }
    }
}
