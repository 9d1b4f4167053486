internal import JSON

/// What `ferry put` is asked for.
public struct UploadOrder: Sendable {
    /// The file to send; `-` for standard input.
    public var file: String
    /// Where to; the gateway judges it.
    public var url: String
    /// The method of the request.
    public var method = "PUT"
    /// Headers of the request.
    public var headers = RequestFields()
    /// What else is asked of the task.
    public var options = TaskSettings()
    /// What was said in advance about who asks.
    public var delegate = DelegateSettings()
    /// What is told of each event of the task but those of its progress; nil for nothing.
    public var report: (@Sendable (ServerSentEvent) -> Void)?
    /// The file to write the answer's body to, `-` for standard output; nil to drop it.
    public var output: String?
    /// Whether a file of that name may be replaced.
    public var replacesFile = false
    /// Whether the gateway keeps the staged file when all is over, for other tasks.
    public var keepsStagedFile = false

    /// An order for a file and a URL, all else at its default.
    public init(file: String, url: String) {
        self.file = file
        self.url = url
    }

    /// Whether all can be done once more from the beginning.
    var mayBeginAnew: Bool {
        isIdempotent && file != "-" && output != "-" && output.map(PartFile.isStream) != true
            && !PartFile.isStream(file)
    }

    /// Whether the request may be sent twice (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
        ["PUT", "DELETE", "GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
    }

    /// The body of `POST …/tasks` for a staged file; unless it `retries`, the first failure is the
    /// last.
    func json(stagedFile: String, retries: Bool = true) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", "upload")
            json.member("resume", true)
            options.write(to: &json, retries: retries)
            json.object("request") { json in
                json.member("url", url)
                json.member("method", method)
                headers.write(to: &json)
            }
            json.object("body") { json in json.member("file", stagedFile) }
        }
        return json.finish()
    }
}
