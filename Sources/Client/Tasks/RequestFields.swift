internal import JSON

/// The headers of a request as a user gives them, in their order; a name may come more than once.
public struct RequestFields: Equatable, Sendable {
    /// A header line.
    struct Line: Equatable, Sendable {
        var name: String
        var value: String
    }

    private(set) var lines: [Line] = []

    /// None.
    public init() {}

    /// Lines as a user types them: `Name: value`; the gateway judges both.
    ///
    /// - Throws: `badArgument` for a line without a colon or a name.
    public init(parsing lines: [String]) throws(ClientError) {
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
                throw .badArgument("a header is written 'Name: value', not '\(line)'")
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            append(String(line[..<colon]), String(value))
        }
    }

    /// Adds a line behind the others.
    public mutating func append(_ name: String, _ value: String) {
        lines.append(Line(name: name, value: value))
    }

    /// Adds a line behind the others unless there is one of that name, in whatever case.
    public mutating func appendIfMissing(_ name: String, _ value: String) {
        guard !lines.contains(where: { $0.name.lowercased() == name.lowercased() }) else { return }
        append(name, value)
    }

    /// Writes a request's member `headers`: an object of strings, or of arrays where a name comes
    /// more than once, whatever its case. Nothing where there are none.
    func write(to json: inout JSONWriter) {
        guard !lines.isEmpty else { return }
        json.object("headers") { json in
            var written: Set<String> = []
            for line in lines where written.insert(line.name.lowercased()).inserted {
                let values = lines.filter { $0.name.lowercased() == line.name.lowercased() }
                    .map(\.value)
                if values.count == 1 {
                    json.member(named: line.name, line.value)
                } else {
                    json.member(named: line.name, values)
                }
            }
        }
    }
}
