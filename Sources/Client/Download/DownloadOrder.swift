internal import JSON

/// What `ferry get` is asked for.
public struct DownloadOrder: Sendable {
    /// The URL; the gateway judges it.
    public var url: String
    /// The file to write, or the folder to write into; nil for the suggested name in this folder.
    public var output: String?
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

    /// An order for a URL, all else at its default.
    public init(url: String) {
        self.url = url
    }

    /// The body of `POST …/tasks`; with resume data the request comes from there (rule S-36).
    func json(resumeData: String? = nil) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", "download")
            json.member("resume", true)
            options.write(to: &json)
            if let expectedDigest { json.member("expectedDigest", expectedDigest) }
            if let connections { json.member("connections", connections) }
            if !mirrors.isEmpty { json.member("mirrors", mirrors) }
            if let resumeData {
                json.member("resumeData", resumeData)
            } else {
                json.object("request") { json in
                    json.member("url", url)
                    if let cachePolicy { json.member("cachePolicy", cachePolicy.rawValue) }
                    headers.write(to: &json)
                }
            }
        }
        return json.finish()
    }
}
