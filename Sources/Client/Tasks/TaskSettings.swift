internal import JSON
internal import Syntax

/// What `get` and `put` may ask of the task that they create, beside its request.
public struct TaskSettings: Equatable, Sendable {
    /// The place in the queue, 0…1; the gateway's default is 0.5 (rule S-43).
    public var priority: Double?
    /// The most bytes a second; nil for no limit of the task's own.
    public var maximumBytesPerSecond: Int64?
    /// How often the gateway may try again after a failure that may pass; nil for never.
    public var retryAttempts: Int?

    /// All at the gateway's defaults.
    public init() {}

    /// Writes them as members of a task's object.
    func write(to json: inout JSONWriter) {
        if let priority { json.member("priority", priority) }
        if let maximumBytesPerSecond { json.member("maximumBytesPerSecond", maximumBytesPerSecond) }
        if let retryAttempts {
            json.object("retry") { json in json.member("attempts", retryAttempts) }
        }
    }

    /// A rate as a user types it: bytes a second, with `k`, `m` or `g` for 1024, 1024² or 1024³ of
    /// them.
    ///
    /// - Throws: `badArgument` for anything else, and for nothing at all.
    public static func rate(_ text: String) throws(ClientError) -> Int64 {
        let unit: Int64 =
            switch text.last {
            case "k", "K": 1 << 10
            case "m", "M": 1 << 20
            case "g", "G": 1 << 30
            default: 1
            }
        let digits = unit == 1 ? text[...] : text.dropLast()
        // Int64 would take a sign too.
        guard digits.utf8.allSatisfy(Octets.isDigit), let number = Int64(digits),
            number > 0, number <= Int64.max / unit
        else { throw .badArgument("a rate is written 500000, 500k, 2m or 1g, not '\(text)'") }
        return number * unit
    }
}
