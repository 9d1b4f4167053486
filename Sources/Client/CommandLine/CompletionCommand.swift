internal import Glibc

/// A command of the user's for each file that has been fetched.
public struct CompletionCommand: Sendable {
    private let command: String
    private let environment: [String: String]
    private let leavesStandardOutput: Bool

    /// A command for `/bin/sh`, and the environment that it gets; what it prints goes to standard
    /// error where it `leavesStandardOutput` to others.
    public init(
        _ command: String, environment: [String: String], leavesStandardOutput: Bool = false
    ) {
        self.command = command
        self.environment = environment
        self.leavesStandardOutput = leavesStandardOutput
    }

    /// Runs it and waits for its end. The file's name is `$1` and `$FERRY_FILE`, never a part of
    /// the command; the URL is `$FERRY_URL`, the task `$FERRY_TASK`.
    ///
    /// - Throws: `commandFailed`.
    public func run(for receipt: DownloadReceipt) throws(ClientError) {
        var environment = environment
        // A name that begins with a hyphen would be an option of the programs that get it.
        let file = receipt.path.hasPrefix("-") ? "./" + receipt.path : receipt.path
        environment["FERRY_FILE"] = file
        environment["FERRY_URL"] = receipt.url
        environment["FERRY_TASK"] = receipt.task
        let status = ChildCommand.run(
            "/bin/sh", ["-c", command, "sh", file], environment: environment,
            output: leavesStandardOutput ? STDERR_FILENO : STDOUT_FILENO)
        guard status == 0 else {
            throw .commandFailed(command: command, file: receipt.path, status: status)
        }
    }
}

/// A program that is waited for.
enum ChildCommand {
    /// Runs it on this process's descriptors, with `output` for its standard output and the
    /// signals' usual meaning, and gives its exit status as a shell does: 127 where it cannot be
    /// run, 128 and more after a signal.
    static func run(
        _ program: String, _ arguments: [String], environment: [String: String],
        output: Int32 = STDOUT_FILENO
    ) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if output != STDOUT_FILENO {
            posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var usual = sigset_t()
        sigemptyset(&usual)
        sigaddset(&usual, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        var variables: [UnsafeMutablePointer<CChar>?] =
            environment.map { strdup("\($0.key)=\($0.value)") }
        words.append(nil)
        variables.append(nil)
        defer { for text in words + variables { free(text) } }
        var process: pid_t = 0
        guard posix_spawn(&process, program, &actions, &attributes, words, variables) == 0 else {
            return 127
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return 127 }
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
