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

    /// How lines look.
    public enum Format: String, Sendable, CaseIterable {
        /// For people: time, level, area, the sentence, and `name=value` for each field.
        case text
        /// For programs: an object on a line, with `time`, `level`, `area`, `message`, and a member
        /// for each field.
        case json
    }

    /// A value that may stand in a log line.
    public enum Field: Sendable {
        /// A number: a count, a size in bytes, a port, an error code.
        case number(Int)
        /// An identifier of ours (`tsk_…`), a code, or a name that the operator chose.
        case name(String)
        /// A URL; the query, the fragment and user information are left out.
        case url(String)
        /// The host of a URL, as the one parser has written it.
        case host(String)
        /// The lower layer's own words for an error. Never a client's or an origin's text.
        case words(String)
        /// A length of time.
        case duration(Duration)
    }

    private static let threshold = Atomic(Level.notice.rank)
    private static let chosenFormat = Mutex(Format.text)
    private let logger: Logger

    /// A log whose lines begin with `area`, the target or theme that speaks.
    public init(_ area: String) {
        var logger = Logger(label: area) { LineHandler(area: $0) }
        logger.logLevel = .trace
        self.logger = logger
    }

    /// Sets the least level that is written, for every log of the process. Default: `notice`.
    public static func setThreshold(_ level: Level) {
        threshold.store(level.rank, ordering: .relaxed)
    }

    /// How every log of the process writes its lines. Default: `text`.
    public static var format: Format {
        get { chosenFormat.withLock { $0 } }
        set { chosenFormat.withLock { $0 = newValue } }
    }

    /// Whether lines of this level are written. Costs a load.
    public static func isWriting(_ level: Level) -> Bool {
        level.rank >= threshold.load(ordering: .relaxed)
    }

    /// Writes one line, or nothing below the threshold: then the fields are not even made. Control
    /// characters in fields are escaped.
    public func write(
        _ level: Level, _ sentence: StaticString,
        _ fields: @autoclosure () -> KeyValuePairs<String, Field> = [:]
    ) {
        guard Log.isWriting(level) else { return }
        write(level, sentence, Array(fields()).map { ($0.key, $0.value) })
    }

    /// Writes one line whose fields are gathered before: ask `isWriting` first.
    public func write(_ level: Level, _ sentence: StaticString, _ fields: [(String, Field)]) {
        logger.log(
            level: level.standard, "\(sentence)",
            metadata: [LineHandler.fieldsKey: .stringConvertible(LogFields(list: fields))])
    }
}

extension Log.Level {
    fileprivate var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .notice: 2
        case .warning: 3
        case .error: 4
        }
    }

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
