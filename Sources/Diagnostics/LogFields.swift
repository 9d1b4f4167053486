internal import JSON
internal import Syntax

/// The fields of a line in their order, which swift-log's metadata does not have.
struct LogFields: Sendable, CustomStringConvertible {
    let list: [(name: String, field: Log.Field)]

    /// As they stand in a line of text, a space before each.
    var description: String {
        list.reduce(into: "") { $0 += " \($1.name)=\(LogFields.quoted($1.field.text))" }
    }

    func write(to json: inout JSONWriter) {
        for (name, field) in list {
            assert(!LogFields.taken.contains(name), "a line has a member \(name) of its own")
            json.name(named: name)
            switch field {
            case .number(let number): json.int(Int64(number))
            case .duration(let duration): json.double(duration.inSeconds)
            default: json.string(field.text)
            }
        }
    }

    /// What every line has beside its fields.
    private static let taken: Set = ["time", "level", "area", "message"]

    /// In quotes where it would not be one word.
    private static func quoted(_ text: String) -> String {
        guard text.isEmpty || text.utf8.contains(where: { $0 == Octets.space || $0 == 0x22 }) else {
            return text
        }
        return "\"\(text.replacing("\"", with: "\\\""))\""
    }
}

extension Log.Field {
    /// The field as it stands in a line.
    var text: String {
        switch self {
        case .number(let value): String(value)
        case .name(let value), .words(let value), .host(let value): Log.Field.printable(value)
        case .url(let value): Log.Field.printable(Log.Field.withoutSecrets(url: value))
        case .duration(let value): "\(value.inSeconds)s"
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

extension Duration {
    /// To the microsecond: a line is for people, too.
    fileprivate var inSeconds: Double {
        let (seconds, attoseconds) = components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        return Double(microseconds) / 1_000_000
    }
}
