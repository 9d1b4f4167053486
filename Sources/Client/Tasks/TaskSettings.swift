internal import JSON
internal import Syntax

/// What `get` and `put` may ask of the task that they create, beside its request.
public struct TaskSettings: Equatable, Sendable {
    /// The place in the queue, 0…1; the gateway's default is 0.5 (rule S-43).
    public var priority: Double?
    /// The most bytes a second; nil for no limit of the task's own.
    public var maximumBytesPerSecond: Int64?
    /// How often the gateway may try again after a failure that may pass.
    public var retry = Retry.never

    /// How often the gateway may try again.
    public enum Retry: Equatable, Sendable {
        /// Not at all.
        case never
        /// So often, after all that the contract counts as a failure that may pass.
        case times(Int)
        /// What a command does unasked: after a failure of a network that was there, and after 429
        /// and 503 (RFC 6585 §4, RFC 9110 §15.6.4), by which a server asks for it.
        case usual
    }

    /// How many times the usual retry tries again.
    public static let usualRetries = 4

    /// All at the gateway's defaults.
    public init() {}

    /// Writes them as members of a task's object.
    func write(to json: inout JSONWriter, retries: Bool = true) {
        if let priority { json.member("priority", priority) }
        if let maximumBytesPerSecond { json.member("maximumBytesPerSecond", maximumBytesPerSecond) }
        guard retries, retry != .never else { return }
        json.object("retry") { json in
            switch retry {
            case .never: break
            case .times(let attempts): json.member("attempts", attempts)
            case .usual:
                json.member("attempts", TaskSettings.usualRetries)
                json.array("statuses") { json in
                    for status in [429, 503] { json.int(Int64(status)) }
                }
            }
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
