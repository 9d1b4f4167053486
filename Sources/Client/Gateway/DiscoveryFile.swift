internal import Glibc
internal import JSON

/// The file by which the commands of one user find a gateway that this user runs on this machine.
///
/// Each gateway has its own, `gateway-PID.json` of mode 0600 in `$XDG_RUNTIME_DIR/ferry`, or where
/// that is not set or not writable in `~/.config/ferry`. Of several that run, the last that was
/// started is the one that is found. Root also finds the gateway that systemd runs, in
/// `/run/ferry`.
public struct DiscoveryFile: Equatable, Sendable {
    /// The address, in the form of `GatewayAddress.init(parsing:)`; one that this machine can
    /// reach.
    public let gateway: String
    /// A token for it.
    public let token: String
    /// What an https gateway is recognized by, whatever its certificate is for: the digest of its
    /// public key, as `CertificateFacts.publicKeyPin` has it.
    public let publicKey: String?
    /// The process that serves there.
    public let processIdentifier: Int32
    /// When that process made its first file, in milliseconds since 1970.
    let startedAt: Int64
    /// Which process of that number it is; nil where nobody could tell.
    private let start: ProcessStart?

    /// The contents for a gateway; without a process, for one that this process serves.
    public init(
        gateway: String, token: String, publicKey: String? = nil, processIdentifier: Int32? = nil
    ) {
        let process = processIdentifier ?? getpid()
        self.init(
            gateway: gateway, token: token, publicKey: publicKey, processIdentifier: process,
            startedAt: DiscoveryFile.firstFileAt, start: ProcessStart(of: process))
    }

    init(
        gateway: String, token: String, publicKey: String? = nil, processIdentifier: Int32,
        startedAt: Int64, start: ProcessStart?
    ) {
        self.gateway = gateway
        self.token = token
        self.publicKey = publicKey
        self.processIdentifier = processIdentifier
        self.startedAt = startedAt
        self.start = start
    }

    /// A file that is written again, for a new token, is not that of a newer gateway.
    private static let firstFileAt = TaskWait.now

    private static let (prefix, suffix) = ("gateway-", ".json")

    /// The name of the file in its folder.
    private var name: String {
        "\(DiscoveryFile.prefix)\(processIdentifier)\(DiscoveryFile.suffix)"
    }

    /// The runtime folder of the service.
    private static let serviceFolder = "/run/ferry"

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

    /// Leaves the file for the commands, and takes away those of gateways that are gone; atomic.
    ///
    /// `environment` is the process's. Blocks on the file system.
    /// - Returns: the path of the file.
    /// - Throws: `file` when no folder can be written; `badArgument` when there is none to try.
    public func write(environment: [String: String]) throws(ClientError) -> String {
        var failure = ClientError.badArgument("neither XDG_RUNTIME_DIR nor HOME is set")
        for folder in DiscoveryFile.folders(environment) {
            do throws(ClientError) {
                try LocalFile.makeFolder(folder)
                let path = folder + "/" + name
                try write(to: path)
                DiscoveryFile.sweep(folder)
                return path
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Leaves the file at `path`; atomic.
    ///
    /// - Throws: `file`.
    func write(to path: String) throws(ClientError) {
        try LocalFile.replace(path, with: bytes, mode: 0o600)
    }

    /// Takes away the files that this process has left. Blocks on the file system.
    public static func remove(environment: [String: String]) {
        for folder in folders(environment) {
            _ = unlink("\(folder)/\(prefix)\(getpid())\(suffix)")
        }
    }

    /// Takes away what gateways have left that were killed.
    private static func sweep(_ folder: String) {
        for path in paths(in: folder) {
            // What cannot be read is told to whoever looks for a gateway.
            guard let file = try? DiscoveryFile(atPath: path), !file.isServed else { continue }
            _ = unlink(path)
        }
    }

    private var bytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("gateway", gateway)
            json.member("token", token)
            if let publicKey { json.member("publicKey", publicKey) }
            json.member("pid", Int(processIdentifier))
            json.member("startedAt", startedAt)
            start?.write(to: &json)
        }
        return json.finish() + [UInt8(ascii: "\n")]
    }

    // MARK: The commands' side

    /// The files of the gateways that run, the last that was started first.
    ///
    /// What a gateway that was killed has left does not count: by now another program may listen at
    /// its port, and would be sent the token.
    /// - Throws: `file` when there is none, but a file that cannot be read, or that others could
    ///   have written or can read.
    static func all(environment: [String: String]) throws(ClientError) -> [DiscoveryFile] {
        var failure: ClientError?
        let service = geteuid() == 0 ? [serviceFolder] : []
        for folder in folders(environment) + service {
            var found: [DiscoveryFile] = []
            for path in paths(in: folder) {
                do throws(ClientError) {
                    guard let file = try DiscoveryFile(atPath: path), file.isServed else {
                        continue
                    }
                    found.append(file)
                } catch {
                    failure = error
                }
            }
            if !found.isEmpty { return found.sorted { $0.startedAt > $1.startedAt } }
        }
        if let failure { throw failure }
        return []
    }

    /// The file of the gateway that was started last of those that run; nil when there is none.
    ///
    /// - Throws: `file`, as `all`.
    public static func read(environment: [String: String]) throws(ClientError) -> DiscoveryFile? {
        try all(environment: environment).first
    }

    /// The files of gateways in a folder.
    private static func paths(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var paths: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { continue }
            paths.append(folder + "/" + name)
        }
        return paths.sorted()
    }

    /// Whether the process is there that left the file: its number may be another one's by now.
    var isServed: Bool {
        start != nil && start == ProcessStart(of: processIdentifier)
    }

    /// The file at `path`; nil when there is none.
    init?(atPath path: String) throws(ClientError) {
        let service = path.hasPrefix(DiscoveryFile.serviceFolder + "/")
        guard let bytes = try LocalFile.read(path, limit: 4096, onlyOwn: true, ofService: service)
        else { return nil }
        guard let json = try? JSONValue(parsing: bytes), let gateway = json["gateway"]?.string,
            let token = json["token"]?.string, let process = json["pid"]?.int64
        else { throw .file(path: path, detail: "is not the file of a gateway") }
        self.init(
            gateway: gateway, token: token, publicKey: json["publicKey"]?.string,
            processIdentifier: Int32(clamping: process),
            startedAt: json["startedAt"]?.int64 ?? 0, start: ProcessStart(json))
    }
}
