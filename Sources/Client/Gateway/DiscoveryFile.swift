internal import Glibc
internal import JSON

/// The file by which the commands of one user find the gateway that this user runs on this machine.
///
/// `gateway.json` of mode 0600 in `$XDG_RUNTIME_DIR/ferry`, or where that is not set or not
/// writable in `~/.config/ferry`. The last gateway that was started is the one that is found.
public struct DiscoveryFile: Equatable, Sendable {
    /// The address, in the form of `GatewayAddress.init(parsing:)`; one that this machine can
    /// reach.
    public let gateway: String
    /// A token for it.
    public let token: String
    /// The process that serves there.
    public let processIdentifier: Int32

    /// The contents for a gateway; without a process, for one that this process serves.
    public init(gateway: String, token: String, processIdentifier: Int32? = nil) {
        self.gateway = gateway
        self.token = token
        self.processIdentifier = processIdentifier ?? getpid()
    }

    /// The name of the file in its folder.
    static let name = "gateway.json"

    /// The folders that may hold the file, in the order in which they are tried; never empty
    /// folders' names, and none at all when neither variable is set.
    static func folders(_ environment: [String: String]) -> [String] {
        var folders: [String] = []
        if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") {
            folders.append(runtime + "/ferry")
        }
        if let home = environment["HOME"], home.hasPrefix("/") {
            folders.append(home + "/.config/ferry")
        }
        return folders
    }

    // MARK: The gateway's side

    /// Leaves the file for the commands, in place of what another gateway has left; atomic.
    ///
    /// `environment` is the process's. Blocks on the file system.
    /// - Returns: the path of the file.
    /// - Throws: `file` when no folder can be written; `badArgument` when there is none to try.
    public func write(environment: [String: String]) throws(ClientError) -> String {
        var failure = ClientError.badArgument("neither XDG_RUNTIME_DIR nor HOME is set")
        for folder in DiscoveryFile.folders(environment) {
            do throws(ClientError) {
                try LocalFile.makeFolder(folder)
                let path = folder + "/" + DiscoveryFile.name
                try LocalFile.replace(path, with: bytes, mode: 0o600)
                return path
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Takes the file away if it is still the one that this process left. Blocks on the file
    /// system.
    public static func remove(environment: [String: String]) {
        for folder in folders(environment) {
            let path = folder + "/" + name
            guard let file = try? DiscoveryFile(atPath: path), file.processIdentifier == getpid()
            else { continue }
            _ = unlink(path)
        }
    }

    private var bytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("gateway", gateway)
            json.member("token", token)
            json.member("pid", Int(processIdentifier))
        }
        return json.finish() + [UInt8(ascii: "\n")]
    }

    // MARK: The commands' side

    /// The file of a gateway that runs; nil when there is none.
    ///
    /// What a gateway that was killed has left does not count: by now another program may listen at
    /// its port, and would be sent the token.
    /// - Throws: `file` when a file is there that cannot be read, or that others could have written
    ///   or can read.
    public static func read(environment: [String: String]) throws(ClientError) -> DiscoveryFile? {
        for folder in folders(environment) {
            guard let file = try DiscoveryFile(atPath: folder + "/" + name) else { continue }
            if file.isServed { return file }
        }
        return nil
    }

    /// Whether the process is there; one of another user is, too (EPERM).
    private var isServed: Bool {
        processIdentifier > 0 && (kill(processIdentifier, 0) == 0 || errno == EPERM)
    }

    /// The file at `path`; nil when there is none.
    init?(atPath path: String) throws(ClientError) {
        guard let bytes = try LocalFile.read(path, limit: 4096, onlyOwn: true) else { return nil }
        guard let json = try? JSONValue(parsing: bytes), let gateway = json["gateway"]?.string,
            let token = json["token"]?.string, let process = json["pid"]?.int64
        else { throw .file(path: path, detail: "is not the file of a gateway") }
        self.init(
            gateway: gateway, token: token, processIdentifier: Int32(clamping: process))
    }
}
