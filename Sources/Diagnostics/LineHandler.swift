internal import Glibc
internal import JSON
internal import Logging

/// Writes lines to standard error, each in one call, so that those of several threads do not mix.
struct LineHandler: LogHandler {
    /// Under which the fields of a line come.
    static let fieldsKey = "fields"

    let area: String
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.trace

    init(area: String) { self.area = area }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = LogFields(list: [])
        if case .stringConvertible(let given)? = event.metadata?[LineHandler.fieldsKey],
            let given = given as? LogFields
        {
            fields = given
        }
        LineHandler.write(
            LineHandler.line(
                Log.format, level: event.level.rawValue, area: area,
                sentence: event.message.description, fields, at: LineHandler.now))
    }

    /// A whole line, with its end.
    static func line(
        _ format: Log.Format, level: String, area: String, sentence: String, _ fields: LogFields,
        at milliseconds: Int64
    ) -> [UInt8] {
        switch format {
        case .text:
            let time = RFC3339.text(milliseconds: milliseconds)
            return Array("\(time) \(level) \(area): \(sentence)\(fields)\n".utf8)
        case .json:
            var json = JSONWriter()
            json.object { json in
                json.member("time", instant: milliseconds)
                json.member("level", level)
                json.member("area", area)
                json.member("message", sentence)
                fields.write(to: &json)
            }
            return json.finish() + [UInt8(ascii: "\n")]
        }
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// What standard error does not take, as when nobody reads it any more, is nobody's to tell.
    private static func write(_ line: [UInt8]) {
        line.withUnsafeBytes { line in
            var sent = 0
            while sent < line.count {
                let count = Glibc.write(2, line.baseAddress.map { $0 + sent }, line.count - sent)
                guard count > 0 || errno == EINTR else { return }
                sent += max(0, count)
            }
        }
    }
}
