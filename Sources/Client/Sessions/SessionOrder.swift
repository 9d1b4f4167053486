internal import JSON

/// What `ferry sessions create` is asked for.
public struct SessionOrder: Equatable, Sendable {
    /// Whether nothing of it reaches the disk, nor outlives the gateway (S-2).
    public var isEphemeral = false
    /// What its owner calls it.
    public var description: String?
    /// The most bytes a second of all its tasks; nil for no limit.
    public var maximumBytesPerSecond: Int64?
    private var configuration: JSONValue?

    private static let byteLimit = 1 << 20

    /// A default session.
    public init() {}

    /// Takes the configuration from a file: a JSON object of NSURLSessionConfiguration's
    /// properties, which the gateway judges. Blocks.
    ///
    /// - Throws: `unreadable`, `badArgument` for what is no JSON object.
    public mutating func readConfiguration(_ path: String) throws(ClientError) {
        let bytes = try LocalFile.readGiven(path, limit: SessionOrder.byteLimit)
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes)
        } catch {
            throw .badArgument("\(path): \(error)")
        }
        guard value.object != nil else { throw .badArgument("\(path): is no JSON object") }
        configuration = value
    }

    /// The body of `POST /v1/sessions`.
    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", isEphemeral ? "ephemeral" : "default")
            if let description { json.member("description", description) }
            if let maximumBytesPerSecond {
                json.member("maximumBytesPerSecond", maximumBytesPerSecond)
            }
            if let configuration { json.member("configuration", configuration) }
        }
        return json.finish()
    }
}
