internal import JSON
internal import Syntax

/// What `ferry get` is asked for.
public struct DownloadOrder: Sendable {
    /// The URL; the gateway judges it.
    public var url: String
    /// The file to write, or the folder to write into; nil for the suggested name in this folder;
    /// `-` for standard output.
    public var output: String?
    /// The method of the request.
    public var method = "GET"
    /// The body of the request; nil for none.
    public var body: [UInt8]?
    /// Whether the task is left suspended.
    public var isSuspended = false
    /// Where the gateway puts the content beside; nil for nowhere.
    public var destination: DownloadDestination?
    /// Texts of the user's own that the task bears.
    public var metadata: [String: String] = [:]
    /// Whether it goes on with what an earlier command has left.
    public var continues = true
    /// Headers of the request.
    public var headers = RequestFields()
    /// What the content must hash to, as `sha-256=:…:` (RFC 9530); the gateway verifies it.
    public var expectedDigest: String?
    /// Over how many connections ranges are fetched side by side, 1…16; nil for the gateway's
    /// default, 1.
    public var connections: Int?
    /// Other URLs of the same file, tried in their order when a source fails.
    public var mirrors: [String] = []
    /// What the request may take from the session's cache; nil for what its configuration says.
    public var cachePolicy: CachePolicy?
    /// What else is asked of the task.
    public var options = TaskSettings()
    /// What was said in advance about who asks.
    public var delegate = DelegateSettings()
    /// Whether a file of that name may be replaced.
    public var replacesFile = false
    /// What is run once the file is there; nil for nothing.
    public var completion: CompletionCommand?
    /// What is told of each event of the task but those of its progress; nil for nothing.
    public var report: (@Sendable (ServerSentEvent) -> Void)?

    /// An order for a URL, all else at its default.
    public init(url: String) {
        self.url = url
    }

    /// Adds `KEY=VALUE` to the metadata; the gateway judges the key.
    public mutating func bear(_ pair: String) {
        let end = pair.utf8.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
        metadata[String(pair[..<end])] = String(pair[end...].unicodeScalars.dropFirst())
    }

    /// Whether what it has brought can be gone on with, or taken back: of a stream neither.
    var mayBeginAnew: Bool { output != "-" && output.map(PartFile.isStream) != true }

    /// The body of `POST …/tasks`; with resume data the request comes from there (rule S-36).
    /// Unless it `retries`, the first failure is the last.
    func json(resumeData: String? = nil, retries: Bool = true) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", "download")
            json.member("resume", !isSuspended)
            options.write(to: &json, retries: retries)
            destination?.write(to: &json)
            if !metadata.isEmpty {
                json.object("metadata") { json in
                    for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
                        json.member(named: name, value)
                    }
                }
            }
            if let expectedDigest { json.member("expectedDigest", expectedDigest) }
            if let connections { json.member("connections", connections) }
            if !mirrors.isEmpty { json.member("mirrors", mirrors) }
            if let resumeData {
                json.member("resumeData", resumeData)
            } else {
                json.object("request") { json in
                    json.member("url", url)
                    if method != "GET" { json.member("method", method) }
                    if let cachePolicy { json.member("cachePolicy", cachePolicy.rawValue) }
                    headers.write(to: &json)
                }
                if let body {
                    json.object("body") { json in
                        json.member("data", Base64.standard.text(of: body))
                    }
                }
            }
        }
        return json.finish()
    }
}
