import Foundation
import Glibc
import Synchronization

/// A process that a test started; killed and reaped when it is released.
public final class ChildProcess: Sendable {
    /// How a process ended.
    public enum Exit: Sendable, Equatable {
        /// It left with this status.
        case status(Int32)
        /// This signal ended it.
        case signal(Int32)
    }

    /// Which of its two output streams.
    public enum Stream: Sendable {
        /// Descriptor 1.
        case output
        /// Descriptor 2.
        case errors
    }

    /// Its process id.
    public let identifier: Int32
    private let output: ChildOutput
    private let errors: ChildOutput
    private let ending = ChildEnding()

    /// Starts a program with standard input at `/dev/null`.
    ///
    /// `executable` is an absolute path or a name to look for in PATH; `environment` is the child's
    /// whole one, and nil hands on the test's own.
    /// - Throws: `SocketError` with the system's error.
    public init(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil
    ) throws {
        let environment = environment ?? ProcessInfo.processInfo.environment
        let started = try inheritance.withLock { _ in
            try Self.start(executable, arguments, environment)
        }
        identifier = started.identifier
        output = ChildOutput(started.output)
        errors = ChildOutput(started.errors)
        let (identifier, ending) = (identifier, ending)
        startThread("child reaper") { ending.reap(identifier) }
    }

    deinit {
        send(SIGKILL)
    }

    /// How it ended, or nil while it runs.
    public var exit: Exit? { ending.exit.withLock { $0 } }

    /// Sends a signal; does nothing once the process has ended.
    public func send(_ signal: Int32) {
        // Under the lock the process is not yet reaped, so its id cannot be another's.
        ending.exit.withLock { if $0 == nil { _ = kill(identifier, signal) } }
    }

    /// Asks it to end (SIGTERM).
    public func terminate() {
        send(SIGTERM)
    }

    /// Ends it at once (SIGKILL) and waits until it is gone.
    public func killNow() async throws {
        send(SIGKILL)
        try await waitForExit()
    }

    /// Waits for its end.
    ///
    /// - Throws: `DeadlinePassed`.
    @discardableResult
    public func waitForExit(within limit: Duration = .patience) async throws -> Exit {
        try await eventually(within: limit, "process \(identifier) to end") { exit != nil }
        return exit ?? .status(-1)
    }

    /// Waits for the first line that satisfies `condition`, looking at earlier ones too.
    ///
    /// - Throws: `DeadlinePassed` with all that the process wrote, also when it has ended
    ///   meanwhile.
    public func waitForLine(
        on stream: Stream = .output, within limit: Duration = .patience,
        where condition: (String) -> Bool = { _ in true }
    ) async throws -> String {
        let source = stream == .output ? output : errors
        var found: String?
        try? await eventually(within: limit) {
            let isOver = source.isAtEnd
            found = source.lines.first(where: condition)
            return found != nil || isOver
        }
        guard let found else {
            let text = "a line of process \(identifier); it wrote: \(outputText)\(errorText)"
            throw DeadlinePassed(text, limit)
        }
        return found
    }

    /// All that it has written to standard output so far.
    public var outputText: String { output.text }

    /// All that it has written to standard error so far.
    public var errorText: String { errors.text }

    /// How it ended, once all that it wrote is here, too.
    ///
    /// - Throws: `DeadlinePassed`.
    public func waitForEnd(within limit: Duration = .seconds(60)) async throws -> Exit {
        let exit = try await waitForExit(within: limit)
        try await eventually("the end of what it writes") { output.isAtEnd && errors.isAtEnd }
        return exit
    }

    /// Runs a program to its end and gives its standard output.
    ///
    /// - Throws: `ProgramFailed` when it does not exit with 0.
    @discardableResult
    public static func run(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
        within limit: Duration = .seconds(60)
    ) async throws -> String {
        let child = try ChildProcess(executable, arguments, environment: environment)
        let exit = try await child.waitForEnd(within: limit)
        guard exit == .status(0) else {
            throw ProgramFailed(program: executable, exit: exit, errorText: child.errorText)
        }
        return child.outputText
    }

    private static func start(
        _ executable: String, _ arguments: [String], _ environment: [String: String]
    ) throws -> (identifier: Int32, output: Int32, errors: Int32) {
        let output = try makePipe()
        defer { close(output.write) }
        let errors = try makePipe()
        defer { close(errors.write) }
        do {
            let identifier = try spawn(
                executable, arguments, environment, output: output.write, errors: errors.write)
            return (identifier, output.read, errors.read)
        } catch {
            close(output.read)
            close(errors.read)
            throw error
        }
    }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SocketError("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func spawn(
        _ executable: String, _ arguments: [String], _ environment: [String: String],
        output: Int32, errors: Int32
    ) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let words = ([executable] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var identifier: Int32 = 0
        let result = posix_spawnp(&identifier, executable, &actions, &attributes, words, variables)
        guard result == 0 else { throw SocketError("start \(executable)", result) }
        return identifier
    }
}

/// A program that did not exit with status 0.
public struct ProgramFailed: Error, CustomStringConvertible {
    /// The program.
    public let program: String
    /// How it ended.
    public let exit: ChildProcess.Exit
    /// What it wrote to standard error.
    public let errorText: String

    /// Program, end and error output.
    public var description: String { "\(program) ended with \(exit): \(errorText)" }
}

/// Collects what a child writes to one pipe, on a thread that ends with the pipe.
private final class ChildOutput: Sendable {
    private let state = Mutex((bytes: [UInt8](), isAtEnd: false))

    init(_ descriptor: Int32) {
        let state = { @Sendable [weak self] (piece: [UInt8]) in
            self?.state.withLock {
                $0.bytes += piece
                $0.isAtEnd = piece.isEmpty
            }
        }
        startThread("child output") {
            var room = [UInt8](repeating: 0, count: 16384)
            while true {
                let got = Glibc.read(descriptor, &room, room.count)
                if got < 0 && errno == EINTR { continue }
                state(Array(room.prefix(max(0, got))))
                if got <= 0 { break }
            }
            Glibc.close(descriptor)
        }
    }

    var isAtEnd: Bool { state.withLock(\.isAtEnd) }

    var text: String { String(decoding: state.withLock(\.bytes), as: UTF8.self) }

    /// The whole lines so far; the last one needs its newline, unless the stream has ended.
    var lines: [String] {
        let (bytes, isAtEnd) = state.withLock { ($0.bytes, $0.isAtEnd) }
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if !isAtEnd || lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// How a child ended, told by the thread that reaps it.
private final class ChildEnding: Sendable {
    let exit = Mutex<ChildProcess.Exit?>(nil)

    func reap(_ identifier: Int32) {
        var information = siginfo_t()
        // Waits without reaping first: reaping itself happens under the lock, so that no signal
        // is ever sent to a process id that the kernel has given to another process.
        while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) != 0 {
            guard errno == EINTR else { break }
        }
        exit.withLock {
            var status: Int32 = 0
            _ = waitpid(identifier, &status, 0)
            let signal = status & 0x7f
            $0 = signal == 0 ? .status((status >> 8) & 0xff) : .signal(signal)
        }
    }
}
