import Foundation
import Glibc
import REST

/// The data directory: the gateway's own, locked while it runs.
struct DataFolder {
    /// Its absolute path.
    let root: String

    /// Makes the folder, for its owner only, and locks it.
    /// - Throws: `ServeSettings.Refusal` where it cannot be made, or another gateway has it.
    init(_ root: String) throws {
        let absolute =
            root.hasPrefix("/") ? root : FileManager.default.currentDirectoryPath + "/" + root
        self.root = absolute
        do {
            try FileManager.default.createDirectory(
                atPath: absolute, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw ServeSettings.Refusal(
                description: "The data directory \(root) cannot be made.", code: 73)
        }
        // Held by the process to its end, also to a sudden one.
        let lock = open(absolute + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw ServeSettings.Refusal(
                description: "The data directory \(root) cannot be written.", code: 73)
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            throw ServeSettings.Refusal(
                description: "Another gateway uses the data directory \(root).", code: 75)
        }
    }

    func path(_ name: String) -> String { root + "/" + name }

    /// The operator's token: of the environment, else the one of an earlier start, else a new one.
    func token(environment: [String: String]) throws -> AccessToken {
        if let text = environment["FERRY_TOKEN"] {
            guard let token = AccessToken(text) else {
                throw ServeSettings.Refusal(
                    description: "FERRY_TOKEN is no token: fry_… with a right checksum.", code: 78)
            }
            return token
        }
        let path = path("token")
        if let data = FileManager.default.contents(atPath: path) {
            guard let token = AccessToken(String(decoding: data, as: UTF8.self)) else {
                throw ServeSettings.Refusal(
                    description: "\(path) holds no token; remove it, and a new one is made.",
                    code: 78)
            }
            return token
        }
        let token = AccessToken.make()
        try write(token.text + "\n", to: path)
        return token
    }

    /// Whole or not at all, durable, for the owner only.
    private func write(_ text: String, to path: String) throws {
        let temporary = path + ".new"
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw DataFolder.failure(path) }
        defer { close(file) }
        let bytes = Array(text.utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0,
            rename(temporary, path) == 0
        else { throw DataFolder.failure(path) }
    }

    private static func failure(_ path: String) -> ServeSettings.Refusal {
        ServeSettings.Refusal(
            description: "\(path) cannot be written: \(String(cString: strerror(errno)))", code: 73)
    }
}
