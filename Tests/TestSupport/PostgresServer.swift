import Foundation
import Glibc
import Synchronization

/// A PostgreSQL server of a test's own on loopback, as Debian's postgresql-15 has it; its data are
/// in a folder that goes with it.
///
/// A shell watches over it: it ends the server, by its process id, when the test process is no
/// more, however that ended, and removes the folder.
public final class PostgresServer: Sendable {
    /// The server that the tests of this process share, each in a schema of its own.
    public static func shared() async throws -> PostgresServer { try await sharing.value }
    private static let sharing = Task { try await PostgresServer() }

    /// Whether there is one on this machine; says so where there is none.
    public static let isInstalled: Bool = {
        if programs != nil { return true }
        FileHandle.standardError.write(
            Data("No PostgreSQL here (postgresql-15): nothing is tested on it.\n".utf8))
        return false
    }()

    /// The newest one's folder of programs; Debian has none of them in PATH.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap { Int($0) }.filter { $0 >= 15 }.sorted(by: >)
            .map { "\(root)/\($0)/bin" }
            .first { access("\($0)/postgres", X_OK) == 0 }
    }()

    /// The port, which stays the same over `restart`.
    public let port: UInt16
    private let folder: String
    private let watcher = Mutex<ChildProcess?>(nil)
    private let schemaCount = Atomic(0)
    private static let password = "p:w/d"

    /// Makes a server and starts it.
    public init() async throws {
        guard let programs = Self.programs else { throw NoPostgres() }
        port = try Endpoint.freePort()
        folder =
            FileManager.default.temporaryDirectory.path
            + "/ferry-postgres-\(UUID().uuidString.prefix(8))"
        try await ChildProcess.run("mkdir", ["-m", "700", folder])
        try Data("\(Self.password)\n".utf8).write(to: URL(fileURLWithPath: folder + "/password"))
        if getuid() == 0 { try await ChildProcess.run("chown", ["-R", "postgres:", folder]) }
        let words =
            Self.unprivileged + [
                "\(programs)/initdb", "--pgdata", folder + "/data", "--username", "ferry",
                "--pwfile", folder + "/password", "--auth", "scram-sha-256", "--encoding", "UTF8",
                "--locale", "C", "--no-sync",
            ]
        try await ChildProcess.run(words[0], Array(words.dropFirst()))
        try await start()
    }

    deinit {
        // The shell goes with its handle, before it could end anything.
        if let identifier = try? identifier {
            kill(identifier, SIGQUIT)
            // What it still writes would be in the way of the removal.
            let end = ContinuousClock.now + .seconds(5)
            while kill(identifier, 0) == 0, ContinuousClock.now < end { usleep(10_000) }
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The process that the server writes down as its first one.
    private var identifier: Int32 {
        get throws {
            let file = try String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8)
            guard let identifier = file.split(separator: "\n").first.flatMap({ Int32($0) }) else {
                throw NoPostgres()
            }
            return identifier
        }
    }

    /// PostgreSQL does not run as root.
    private static var unprivileged: [String] {
        getuid() == 0
            ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] : ["env"]
    }

    /// The address of its database, with the password.
    ///
    /// - Parameters:
    ///   - schema: where the tables are.
    ///   - password: another one than the right one.
    /// - Returns: The address.
    public func url(schema: String = "public", password: String? = nil) -> String {
        let password =
            (password ?? Self.password).addingPercentEncoding(withAllowedCharacters: .alphanumerics)
            ?? ""
        return "postgres://ferry:\(password)@127.0.0.1:\(port)/postgres?options=-csearch_path%3D"
            + schema
    }

    /// The schema of an address.
    public static func schema(of url: String) -> String {
        url.split(separator: "%3D").last.map(String.init) ?? ""
    }

    /// A name for a schema that no test has had.
    public func newSchema() -> String {
        "test_\(schemaCount.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    /// Runs statements, by `psql`, and gives what they say: rows without decoration.
    @discardableResult
    public func run(_ sql: String, schema: String = "public") async throws -> String {
        let output = try await ChildProcess.run(
            "psql",
            [
                "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1",
                "--command", sql, url(schema: schema),
            ])
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Starts it again, after `stop`, and waits until it answers.
    public func start() async throws {
        guard let programs = Self.programs else { throw NoPostgres() }
        let server =
            Self.unprivileged + [
                "\(programs)/postgres", "-D", folder + "/data", "-p", "\(port)",
                "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=\(folder)",
                "-c", "max_connections=400", "-c", "shared_buffers=64MB", "-c", "fsync=off",
                "-c", "full_page_writes=off", "-c", "autovacuum=off",
            ]
        let process = try ChildProcess("sh", ["-c", Self.watch, "sh", folder] + server)
        watcher.withLock { $0 = process }
        try await eventually("PostgreSQL to answer") {
            if let exit = process.exit {
                throw ProgramFailed(program: "postgres", exit: exit, errorText: process.errorText)
            }
            return (try? await self.run("SELECT 1")) == "1"
        }
    }

    /// Ends it: at once, as a crash does, or with a word to its clients.
    public func stop(atOnce: Bool) async throws {
        let identifier = try identifier
        kill(identifier, atOnce ? SIGQUIT : SIGINT)
        let process = watcher.withLock { $0.take() }
        try await process?.waitForExit()
    }

    /// The server runs beside a loop that ends with it, or ends it: when it is told to, and when
    /// the parent is another one, which is to say when the test process has ended.
    private static let watch = """
        folder=$1; shift
        "$@" & server=$!
        end() { kill -QUIT $server; wait $server; rm -rf "$folder"; exit; }
        trap end TERM
        while kill -0 $server 2>/dev/null; do
            [ "$(cut -d ' ' -f 4 /proc/$$/stat)" = $PPID ] || end
            sleep 0.5 & wait $!
        done
        """
}

/// There is no server where there should be one.
public struct NoPostgres: Error {}
