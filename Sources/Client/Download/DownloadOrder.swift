internal import JSON

/// What `ferry get` is asked for.
public struct DownloadOrder: Sendable {
    /// The URL; the gateway judges it.
    public var url: String
    /// The file to write, or the folder to write into; nil for the suggested name in this folder.
    public var output: String?
    /// Headers of the request in their order; a name may come more than once.
    public var headers: [(name: String, value: String)] = []
    /// What the content must hash to, as `sha-256=:…:` (RFC 9530); the gateway verifies it.
    public var expectedDigest: String?
    /// 0…1, the gateway's default is 0.5 (rule S-43).
    public var priority: Double?
    /// Whether a file of that name may be replaced.
    public var replacesFile = false

    /// An order for a URL, all else at its default.
    public init(url: String) {
        self.url = url
    }

    /// A header line as a user types it: `Name: value`; the gateway judges both.
    ///
    /// - Throws: `badArgument` without a colon or a name.
    public static func header(_ line: String) throws(ClientError) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            throw .badArgument("a header is written 'Name: value', not '\(line)'")
        }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        return (String(line[..<colon]), String(value))
    }

    /// The body of `POST …/tasks`.
    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", "download")
            json.member("resume", true)
            if let priority { json.member("priority", priority) }
            if let expectedDigest { json.member("expectedDigest", expectedDigest) }
            json.object("request") { json in
                json.member("url", url)
                if !headers.isEmpty {
                    json.object("headers") { json in writeHeaders(to: &json) }
                }
            }
        }
        return json.finish()
    }

    /// An object of strings, or of arrays where a name comes more than once, whatever its case.
    private func writeHeaders(to json: inout JSONWriter) {
        var written: Set<String> = []
        for (name, _) in headers where written.insert(name.lowercased()).inserted {
            let values = headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
            if values.count == 1, let value = values.first {
                json.member(named: name, value)
            } else {
                json.member(named: name, values)
            }
        }
    }
}

/// What `ferry get` has done.
public struct DownloadReceipt: Equatable, Sendable {
    /// The task that it was.
    public let task: String
    /// The URL after redirects.
    public let url: String
    /// The file.
    public let path: String
    /// The status of the response.
    public let status: Int
    /// Its length in bytes.
    public let length: Int64
    /// The digest, if the gateway had to compute it.
    public let digest: String?
    /// How long it took.
    public let elapsed: Duration

    /// `big.iso: 700 MiB in 0:12 (58.1 MiB/s)`
    public var sentence: String {
        let seconds = elapsed / .seconds(1)
        let rate = seconds > 0.01 ? " (\(Figures.rate(Double(length) / seconds)))" : ""
        return "\(path): \(Figures.size(length)) in \(Figures.time(elapsed))\(rate)"
    }

    /// One JSON object on one line, for scripts.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.member("task", task)
            json.member("url", url)
            json.member("file", path)
            json.member("status", status)
            json.member("length", length)
            json.member("digest", digest)
            json.member("seconds", elapsed / .seconds(1))
        }
        return String(decoding: json.finish(), as: UTF8.self)
    }
}
