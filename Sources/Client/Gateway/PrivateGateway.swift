internal import Glibc
internal import Synchronization

/// A gateway for the time of a command, where none was named and none runs.
///
/// The commands of a user share it, and what it knows is kept, so that a download that was
/// interrupted goes on with a later one. Each of them holds a shared lock on a file; the gateway
/// ends when it gets that lock alone, whatever has become of them.
public final class PrivateGateway: Sendable {
    /// Where it listens, and the token that only this user can read.
    public let gateway: RemoteGateway
    /// The lock that says that it is needed; -1 once it is not.
    private let users: Mutex<Int32>
    /// The gateway's process, if this command has started it.
    private let child: pid_t?
    private let file: DiscoveryFile

    /// How long a start may take, how long an end is waited for, and how long that of one that was
    /// killed.
    private static let patience = (
        start: Duration.seconds(30), end: Duration.milliseconds(500), death: Duration.seconds(10)
    )

    /// Joins the one that runs, or starts one: `program` with `serve` and its options.
    ///
    /// Its data are in `$XDG_STATE_HOME/ferry/private`, or `~/.local/state/ferry/private`, or in
    /// the temporary folder that `StateFolder` tells of.
    /// - Throws: `file`, `noStart`, `interrupted`, and what a client throws.
    public static func join(
        program: String, environment: [String: String], interrupts: Interrupts
    ) throws(ClientError) -> PrivateGateway {
        let place = try Place(environment)
        try LocalFile.makeFolder(place.root)
        // One that is ending keeps it to its end.
        let users = try lock(place.users, LOCK_SH, interrupts)
        do throws(ClientError) {
            // One command at a time looks whether there is a gateway.
            let starting = try lock(place.starting, LOCK_EX, interrupts)
            defer { close(starting) }
            if let file = try running(at: place, interrupts) {
                return try PrivateGateway(file, users: users, child: nil)
            }
            let start = Start(program: program, place: place, environment: environment)
            let (child, address) = try start.run(interrupts, within: patience.start)
            let file = try place.note(address, child)
            try quiet(RemoteGateway(private: file), interrupts)
            return try PrivateGateway(file, users: users, child: child)
        } catch {
            close(users)
            throw error
        }
    }

    /// The gateway that works on the data; nil where none does. One that was killed has the lock
    /// for as long as its last thread ends.
    private static func running(
        at place: Place, _ interrupts: Interrupts
    ) throws(ClientError) -> DiscoveryFile? {
        let end = ContinuousClock.now.advanced(by: patience.death)
        while place.isServed {
            if let file = try place.left() { return file }
            guard interrupts.count == 0 else { throw .interrupted }
            guard ContinuousClock.now < end else {
                throw .noStart(detail: "\(place.data) is in use by something else")
            }
            usleep(20_000)
        }
        return nil
    }

    /// The one that `file` tells of.
    private init(_ file: DiscoveryFile, users: Int32, child: pid_t?) throws(ClientError) {
        gateway = try RemoteGateway(private: file)
        self.file = file
        self.users = Mutex(users)
        self.child = child
    }

    /// Whether it is there; it may have been killed.
    var isServed: Bool { file.isServed }

    deinit {
        end()
    }

    /// Lets go of it; where this command has started it, waits a moment for its end.
    public func end() {
        let lock = users.withLock { users in
            defer { users = -1 }
            return users
        }
        guard lock >= 0 else { return }
        close(lock)
        guard let child else { return }
        let end = ContinuousClock.now.advanced(by: PrivateGateway.patience.end)
        while waitpid(child, nil, WNOHANG) == 0, ContinuousClock.now < end { usleep(5000) }
    }

    /// What commands have left that were killed rests until their likes take it up again.
    private static func quiet(
        _ gateway: RemoteGateway, _ interrupts: Interrupts
    ) throws(ClientError) {
        let client = GatewayClient(gateway, interrupts: interrupts)
        for json in try client.tasks(states: "running") {
            let task = try RemoteTask(json)
            do throws(ClientError) {
                try client.send("POST", RemoteTask.path(task.id, "/suspend"))
            } catch .refused {
                // It has ended in this very moment.
            }
        }
    }

    private static func lock(
        _ path: String, _ kind: Int32, _ interrupts: Interrupts
    ) throws(ClientError) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .file(path: path, failure: errno) }
        while flock(descriptor, kind) != 0 {
            let failure = errno
            guard failure == EINTR, interrupts.count == 0 else {
                close(descriptor)
                throw failure == EINTR ? .interrupted : .file(path: path, failure: failure)
            }
        }
        return descriptor
    }
}

extension RemoteGateway {
    /// The private gateway that `file` tells of.
    fileprivate init(private file: DiscoveryFile) throws(ClientError) {
        self.init(
            address: try GatewayAddress(parsing: file.gateway), token: file.token, isPrivate: true)
    }
}

/// The folder of a private gateway.
private struct Place {
    let root: String
    var data: String { root + "/data" }
    var users: String { root + "/users" }
    var starting: String { root + "/starting" }
    var log: String { root + "/log" }
    private var address: String { root + "/gateway.json" }

    init(_ environment: [String: String]) throws(ClientError) {
        root = try StateFolder.made(environment) + "/private"
    }

    /// Whether a gateway works on the data: it holds the lock on them.
    var isServed: Bool {
        let descriptor = open(data + "/lock", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    /// The gateway that another command has noted; nil where that has ended: its port may be
    /// somebody else's by now.
    func left() throws(ClientError) -> DiscoveryFile? {
        guard let file = try DiscoveryFile(atPath: address), file.isServed else { return nil }
        return file
    }

    /// Notes a gateway for other commands.
    func note(_ origin: String, _ process: pid_t) throws(ClientError) -> DiscoveryFile {
        let path = data + "/token"
        guard let bytes = try LocalFile.read(path, limit: 4096, onlyOwn: true) else {
            throw .noStart(detail: "\(path) is missing")
        }
        let file = DiscoveryFile(
            gateway: origin, token: String(decoding: bytes, as: UTF8.self).trimmed,
            processIdentifier: process)
        try file.write(to: address)
        return file
    }
}

/// A start of a private gateway.
private struct Start {
    let program: String
    let place: Place
    let environment: [String: String]

    /// The user acts for himself: nothing is forbidden that his own curl could fetch.
    private var arguments: [String] {
        var words = [
            "ferry", "serve", "--while-locked", place.users, "--host", "127.0.0.1", "--port", "0",
            "--data-directory", place.data, "--allow-destination", "0.0.0.0/0",
            "--allow-destination", "::/0",
        ]
        if let path = environment["FERRY_TRUSTED_CERTIFICATES"] {
            words += ["--trusted-certificates", path]
        }
        return words
    }

    /// POSIX_SPAWN_SETSID of <spawn.h>, which Swift does not import.
    private static let ownSession = 0x80

    /// Starts it in a session of its own, so that Ctrl-C is the command's alone, and waits until it
    /// listens.
    func run(
        _ interrupts: Interrupts, within limit: Duration
    ) throws(ClientError) -> (child: pid_t, address: String) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw .noStart(detail: String(cString: strerror(errno)))
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = spawn(output: ends[1])
        let failure = errno
        close(ends[1])
        defer { close(ends[0]) }
        guard let child else { throw .noStart(detail: String(cString: strerror(failure))) }
        do throws(ClientError) {
            return (child, try address(from: ends[0], interrupts, within: limit))
        } catch {
            kill(child, SIGTERM)
            waitpid(child, nil, 0)
            throw error
        }
    }

    private func spawn(output: Int32) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(
            &actions, STDERR_FILENO, place.log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Handlers are gone in the new program; what this one ignores would stay ignored.
        var usual = sigset_t()
        sigemptyset(&usual)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&usual, signal) }
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(
            &attributes, Int16(Int(POSIX_SPAWN_SETSIGDEF) | Start.ownSession))
        // What is meant for the user's own gateway is not for this one.
        let kept = environment.filter { !$0.key.hasPrefix("FERRY_") }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        var variables: [UnsafeMutablePointer<CChar>?] = kept.map { strdup("\($0.key)=\($0.value)") }
        words.append(nil)
        variables.append(nil)
        defer { for text in words + variables { free(text) } }
        var child: pid_t = 0
        let failure = posix_spawn(&child, program, &actions, &attributes, words, variables)
        errno = failure
        return failure == 0 ? child : nil
    }

    private func address(
        from output: Int32, _ interrupts: Interrupts, within limit: Duration
    ) throws(ClientError) -> String {
        let end = ContinuousClock.now.advanced(by: limit)
        var text: [UInt8] = []
        while ContinuousClock.now < end {
            guard interrupts.count == 0 else { throw .interrupted }
            var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 100) > 0 else { continue }
            var room = [UInt8](repeating: 0, count: 512)
            let count = read(output, &room, room.count)
            guard count > 0 else { throw .noStart(detail: reason) }
            text += room[..<count]
            guard let newline = text.firstIndex(of: UInt8(ascii: "\n")) else { continue }
            let line = String(decoding: text[..<newline], as: UTF8.self)
            guard let address = line.split(separator: " ").last else { continue }
            return String(address)
        }
        throw .noStart(detail: "it has not begun within \(limit.components.seconds) s")
    }

    /// What it wrote before it ended.
    private var reason: String {
        let bytes = (try? LocalFile.read(place.log, limit: 1 << 20, onlyOwn: true)) ?? nil
        let lines = String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n")
        return lines.last.map { String($0).replacing("ferry: ", with: "") } ?? "it ended at once"
    }
}
