internal import JSON

/// What has become of the lines of a file of cookies.
public struct CookieImport: Equatable, Sendable {
    /// How many cookies the jar has taken.
    public private(set) var stored: Int64 = 0
    /// What it has not, in the order of the lines: of many the first, for each request.
    public private(set) var faults: [Fault] = []
    /// How many more it has not.
    public private(set) var untoldCount: Int64 = 0

    /// A line that has brought no cookie.
    public struct Fault: Equatable, Sendable {
        /// From 1.
        public let line: Int64
        /// Why; a sentence.
        public let detail: String
    }

    /// Nothing has been imported yet.
    public init() {}

    /// One JSON object on one line:
    /// `{"stored":2,"faultCount":1,"faults":[{"line":3,"detail":"…"}]}`.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.member("stored", stored)
            json.member("faultCount", Int64(faults.count) + untoldCount)
            json.array("faults") { json in
                for fault in faults {
                    json.object { json in
                        json.member("line", fault.line)
                        json.member("detail", fault.detail)
                    }
                }
            }
        }
        return String(decoding: json.finish(), as: UTF8.self)
    }

    /// The faults for people, a line each: `cookies.txt:3: …`; fit for a terminal.
    public func complaints(about file: String) -> [String] {
        let name = file == "-" ? "standard input" : file
        var lines = faults.map { DisplayText.line("\(name):\($0.line): \($0.detail)") }
        if untoldCount > 0 {
            lines.append(DisplayText.line("\(name): \(untoldCount) more were not taken"))
        }
        return lines
    }

    fileprivate mutating func add(_ answer: JSONValue, from line: Int64) throws(ClientError) {
        guard let stored = answer["stored"]?.int64, let faults = answer["faults"]?.array else {
            throw .unexpectedAnswer("an import without a count or faults")
        }
        self.stored += stored
        untoldCount += max(0, (answer["faultCount"]?.int64 ?? 0) - Int64(faults.count))
        for fault in faults {
            self.faults.append(
                Fault(
                    line: line + (fault["line"]?.int64 ?? 1),
                    detail: fault["detail"]?.string ?? "was not taken"))
        }
    }
}

/// A file of cookies in Netscape's format, as curl, wget and browser extensions write it.
public struct CookieFile: Sendable {
    /// What the gateway takes at once, and a little less.
    static let pieceLimit = 1_000_000
    private static let byteLimit = 64 << 20

    let bytes: [UInt8]

    /// Reads a file; `-` for standard input. Blocks.
    ///
    /// - Throws: `unreadable`.
    public init(reading path: String) throws(ClientError) {
        bytes = try LocalFile.readGiven(path, limit: CookieFile.byteLimit)
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The file in pieces of whole lines, each small enough for one request if its lines are, with
    /// the number of lines before it.
    func pieces() -> [(line: Int64, bytes: ArraySlice<UInt8>)] {
        var pieces: [(line: Int64, bytes: ArraySlice<UInt8>)] = []
        var (start, end) = (0, 0)
        var (firstLine, line): (Int64, Int64) = (0, 0)
        while end < bytes.count {
            let rest = bytes[end...]
            let next = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
            if next - start > CookieFile.pieceLimit, end > start {
                pieces.append((firstLine, bytes[start..<end]))
                (start, firstLine) = (end, line)
            }
            (end, line) = (next, line + 1)
        }
        if end > start { pieces.append((firstLine, bytes[start..<end])) }
        return pieces
    }
}

extension GatewayClient {
    /// Puts the cookies of a file into a session's jar, and adds what becomes of them to `outcome`.
    ///
    /// A long file goes in several requests: where one fails, what was before it is in the jar and
    /// in `outcome`, and the same import may be repeated.
    /// - Throws: as `json`.
    public func importCookies(
        _ file: CookieFile, into session: String, outcome: inout CookieImport
    ) throws(ClientError) {
        let path = RemoteSession.path(session, "/cookies")
        for piece in file.pieces() {
            let answer = try persistently { () throws(ClientError) in
                try json("POST", path, text: Array(piece.bytes))
            }
            try outcome.add(answer, from: piece.line)
        }
    }
}
