internal import Logging
internal import Synchronization

/// A log that cannot tell secrets: what goes into a line is a fixed sentence and typed fields.
///
/// There is no way to put a free string into a line without choosing what it is, so a URL loses its
/// query and its user information, and a secret never has a field. Written to standard error.
public struct Log: Sendable {
    /// How much a line matters; a log is quiet below its threshold.
    public enum Level: String, Sendable, CaseIterable {
        case debug, info, notice, warning, error
    }

    /// A value that may stand in a log line.
    public enum Field: Sendable {
        /// A number: a count, a size in bytes, a port, an error code.
        case number(Int)
        /// An identifier of ours (`tsk_…`), a code, or a name that the operator chose.
        case name(String)
        /// A URL; the query, the fragment and user information are left out.
        case url(String)
        /// The lower layer's own words for an error. Never a client's or an origin's text.
        case words(String)
        /// A length of time.
        case duration(Duration)
    }

    private static let threshold = Mutex(Level.notice)
    private let logger: Logger

    /// A log whose lines begin with `area`, the target or theme that speaks.
    public init(_ area: String) {
        var logger = Logger(label: area) { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .trace
        self.logger = logger
    }

    /// Sets the least level that is written, for every log of the process. Default: `notice`.
    public static func setThreshold(_ level: Level) {
        threshold.withLock { $0 = level }
    }

    /// Writes one line, or nothing below the threshold. Control characters in fields are escaped.
    public func write(
        _ level: Level, _ sentence: StaticString, _ fields: KeyValuePairs<String, Field> = [:]
    ) {
        guard level.rank >= Log.threshold.withLock({ $0 }).rank else { return }
        var line = "\(sentence)"
        for (name, field) in fields { line += " \(name)=\(field.text)" }
        logger.log(level: level.standard, "\(line)")
    }
}

extension Log.Level {
    fileprivate var rank: Int { Log.Level.allCases.firstIndex(of: self) ?? 0 }

    fileprivate var standard: Logger.Level {
        switch self {
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}

extension Log.Field {
    /// The field as it stands in a line.
    var text: String {
        switch self {
        case .number(let value): String(value)
        case .name(let value), .words(let value): Log.Field.printable(value)
        case .url(let value): Log.Field.printable(Log.Field.withoutSecrets(url: value))
        case .duration(let value): "\(value)"
        }
    }

    private static func withoutSecrets(url: String) -> String {
        let visible = url.prefix { $0 != "?" && $0 != "#" }
        guard let scheme = visible.firstRange(of: "://") else { return String(visible) }
        let rest = visible[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return String(visible) }
        return String(visible[..<scheme.upperBound]) + rest[rest.index(after: at)...]
    }

    private static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if scalar.value < 0x20 || scalar.value == 0x7F || (0x80..<0xA0).contains(scalar.value) {
                result += scalar.escaped(asASCII: true)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
