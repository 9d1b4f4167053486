internal import Glibc

/// An output stream for people: a terminal with lines that are redrawn, or a log with lines that
/// stay.
public final class Screen {
    /// Whether lines can be redrawn: a terminal that is not `dumb`.
    public let isLive: Bool
    /// Also one that is `dumb`.
    private let isTerminal: Bool
    /// How bars look on it.
    public let style: ProgressBar.Style
    private let descriptor: Int32
    /// The lines at the bottom that the next drawing replaces.
    private var liveLines = 0

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

    /// Writes a line that stays, above those that are redrawn.
    public func print(_ line: String) {
        write(clearing + line + "\n")
    }

    /// Writes a command's result as a line: to a terminal with what it would obey escaped as in
    /// JSON (RFC 8259 §7), so that JSON stays what it is; elsewhere as it is.
    public func printResult(_ line: String) {
        print(isTerminal ? DisplayText.escapedAsJSON(line) : line)
    }

    /// Writes a question in place of the lines that are redrawn; the cursor stays behind it.
    func ask(_ question: String) {
        write(clearing + question)
    }

    /// Replaces the lines at the bottom; a log shows nothing of them. No line may be wider than
    /// `lineWidth`.
    public func draw(_ lines: [String]) {
        guard isLive else { return }
        write(clearing + lines.joined(separator: "\n"))
        liveLines = lines.count
    }

    /// Takes the redrawn lines away, and leaves the cursor where they began.
    public func clear() {
        write(clearing)
    }

    /// Carriage return, up to the first of the lines, erase to the end of the screen (ECMA-48 CUU,
    /// ED).
    private var clearing: String {
        guard liveLines > 0 else { return "" }
        let up = liveLines > 1 ? "\u{1B}[\(liveLines - 1)A" : ""
        liveLines = 0
        return "\r\(up)\u{1B}[J"
    }

    private func write(_ text: String) {
        guard !text.isEmpty else { return }
        var text = text
        // A terminal that has gone, or a full log, is no reason to end a transfer.
        _ = text.withUTF8 { LocalFile.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
    }
}
