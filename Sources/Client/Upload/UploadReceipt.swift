internal import JSON

/// What `ferry put` has done.
public struct UploadReceipt: Equatable, Sendable {
    /// The task that it was.
    public let task: String
    /// The URL after redirects.
    public let url: String
    /// The file that was sent, as it was named.
    public let file: String
    /// The staged file, where it was kept.
    public let stagedFile: String?
    /// The status of the server's answer.
    public let status: Int
    /// Bytes sent.
    public let length: Int64
    /// The file with the answer's body, if it was wanted.
    public let answerPath: String?
    /// How long it took, staging and sending.
    public let elapsed: Duration

    /// `big.iso: 700 MiB in 0:12 (58.1 MiB/s), the server answered 201`
    public var sentence: String {
        "\(file): \(Figures.outcome(length, in: elapsed)), the server answered \(status)"
    }

    /// One JSON object on one line, for scripts.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.member("task", task)
            json.member("url", url)
            json.member("file", file)
            json.member("stagedFile", stagedFile)
            json.member("status", status)
            json.member("length", length)
            json.member("answer", answerPath)
            json.member("seconds", elapsed / .seconds(1))
        }
        return String(decoding: json.finish(), as: UTF8.self)
    }
}
