internal import JSON

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
    /// How many of them this command has fetched: the others were there before.
    public let fetched: Int64
    /// The digest, if the gateway had to compute it.
    public let digest: String?
    /// How long it took.
    public let elapsed: Duration

    /// `big.iso: 700 MiB in 0:12 (58.1 MiB/s)`; of one that was resumed
    /// `big.iso: 700 MiB, of which 350 MiB in 0:06 (58.1 MiB/s)`.
    public var sentence: String {
        let outcome = Figures.outcome(fetched, in: elapsed)
        guard fetched < length else { return "\(path): \(outcome)" }
        guard fetched > 0 else { return "\(path): \(Figures.size(length)), all there already" }
        return "\(path): \(Figures.size(length)), of which \(outcome)"
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
