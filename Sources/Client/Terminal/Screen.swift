internal import Glibc
internal import Synchronization

/// An output stream for people: a terminal with lines that are redrawn, or a log with lines that
/// stay. Any thread may use it.
public final class Screen: Sendable {
    /// Whether lines can be redrawn: a terminal that is not `dumb`.
    public let isLive: Bool
    /// Also one that is `dumb`.
    private let isTerminal: Bool
    /// How bars look on it.
    public let style: ProgressBar.Style
    private let descriptor: Int32
    private let contents = Mutex(Contents())

    private struct Contents {
        /// The lines at the bottom that the next drawing replaces.
        var live: [String] = []
        /// Whether somebody is asked something: the cursor stands behind the question.
        var isAsking = false
        /// What was printed meanwhile.
        var held = ""
        /// The system's number of the first error of a write; 0 for none.
        var failure: Int32 = 0
    }

    /// The screen behind a descriptor, which must stay open.
    ///
    /// `environment` tells the rest: `TERM`, `NO_COLOR` (<https://no-color.org>), and the locale.
    public init(descriptor: Int32, environment: [String: String]) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        isLive = isTerminal && environment["TERM"] != "dumb"
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"]
            .lazy.compactMap { environment[$0] }.first { !$0.isEmpty }?.uppercased() ?? ""
        style = ProgressBar.Style(
            usesColor: isLive && environment["NO_COLOR", default: ""].isEmpty,
            usesUnicode: isLive && (locale.contains("UTF-8") || locale.contains("UTF8")))
    }

    /// Standard error of this process.
    public static func standardError(environment: [String: String]) -> Screen {
        Screen(descriptor: STDERR_FILENO, environment: environment)
    }

    /// Standard output of this process.
    public static func standardOutput(environment: [String: String]) -> Screen {
        Screen(descriptor: STDOUT_FILENO, environment: environment)
    }

    /// Whether a terminal shows what is written to `output`, a file or `-` for standard output.
    ///
    /// - Parameter output: as it was given; nil where the server names it.
    /// - Returns: false, too, for what cannot be opened.
    public static func isTerminal(output: String?) -> Bool {
        guard let output else { return false }
        guard output != "-" else { return isatty(STDOUT_FILENO) == 1 }
        var status = stat()
        guard stat(output, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else { return false }
        let descriptor = open(output, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return isatty(descriptor) == 1
    }

    /// Columns and rows as they are now, so that every drawing follows a resized window; 80 × 24
    /// where the terminal does not tell, and on a log.
    public var size: (columns: Int, rows: Int) {
        var window = winsize()
        guard isLive, ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else {
            return (80, 24)
        }
        return (Int(window.ws_col), window.ws_row > 0 ? Int(window.ws_row) : 24)
    }

    /// The columns that a redrawn line may take: the last one stays free, since a terminal may wrap
    /// there.
    public var lineWidth: Int { max(1, size.columns - 1) }

    /// Writes a line that stays, above those that are redrawn; behind an open question, once it is
    /// over.
    public func print(_ line: String) {
        contents.withLock { contents in
            guard !contents.isAsking else { return contents.held += line + "\n" }
            let below = contents.live.joined(separator: "\n")
            write(Screen.clearing(contents.live.count) + line + "\n" + below, &contents)
        }
    }

    /// Writes a command's result as a line: to a terminal with what it would obey escaped as in
    /// JSON (RFC 8259 §7), so that JSON stays what it is; elsewhere as it is.
    public func printResult(_ line: String) {
        print(isTerminal ? DisplayText.escapedAsJSON(line) : line)
    }

    /// Writes a command's result as it is.
    ///
    /// - Throws: `file`.
    public func write(_ text: String) throws(ClientError) {
        contents.withLock { write(text, &$0) }
        try requireWritten()
    }

    /// Writes a question in place of the lines that are redrawn; the cursor stays behind it, and
    /// nothing else is written until `endQuestion`.
    func ask(_ question: String) {
        contents.withLock { contents in
            write(Screen.clearing(contents.live.count) + question, &contents)
            contents.live = []
            contents.isAsking = true
        }
    }

    /// Ends the question; the cursor is at the beginning of a line already where whoever typed has
    /// ended one.
    func endQuestion(isLineEnded: Bool) {
        contents.withLock { contents in
            write((isLineEnded ? "" : "\n") + contents.held, &contents)
            contents.held = ""
            contents.isAsking = false
        }
    }

    /// Replaces the lines at the bottom; a log, and who is asked something, sees nothing of them.
    /// No line may be wider than `lineWidth`.
    public func draw(_ lines: [String]) {
        guard isLive else { return }
        contents.withLock { contents in
            guard !contents.isAsking else { return }
            write(
                Screen.clearing(contents.live.count) + lines.joined(separator: "\n"), &contents)
            contents.live = lines
        }
    }

    /// Takes the redrawn lines away, and leaves the cursor where they began.
    public func clear() {
        contents.withLock { contents in
            write(Screen.clearing(contents.live.count), &contents)
            contents.live = []
        }
    }

    /// Takes the redrawn lines away while something else writes to the same terminal.
    public func step(aside work: () -> Void) {
        contents.withLock { contents in
            write(Screen.clearing(contents.live.count), &contents)
            contents.live = []
            work()
        }
    }

    /// Carriage return, up to the first of so many lines, erase to the end of the screen (ECMA-48
    /// CUU, ED).
    private static func clearing(_ lineCount: Int) -> String {
        guard lineCount > 0 else { return "" }
        let up = lineCount > 1 ? "\u{1B}[\(lineCount - 1)A" : ""
        return "\r\(up)\u{1B}[J"
    }

    /// Progress that could not be written is no reason to end a transfer; of a result it is one.
    ///
    /// - Throws: `file`.
    public func requireWritten() throws(ClientError) {
        let failure = contents.withLock(\.failure)
        guard failure == 0 else { throw .file(path: PartFile.streamName, failure: failure) }
    }

    /// The same, also before anything is written to a pipe that nobody reads any more.
    ///
    /// - Throws: `file`.
    public func requireReader() throws(ClientError) {
        try requireWritten()
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        if poll(&entry, 1, 0) > 0, entry.revents & Int16(POLLERR) != 0 {
            throw .file(path: PartFile.streamName, failure: EPIPE)
        }
    }

    private func write(_ text: String, _ contents: inout Contents) {
        guard !text.isEmpty else { return }
        var text = text
        let failure = text.withUTF8 {
            LocalFile.writeAll(UnsafeRawBufferPointer($0), to: descriptor)
        }
        if contents.failure == 0 { contents.failure = failure }
    }
}
