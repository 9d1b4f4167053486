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

    /// A rate as a user types it: bytes a second; `k`, `m` or `g` are 1024, 1024² and 1024³ of
    /// them, and so are `KiB/s`, `MiB/s` and `GiB/s`, as rates are shown; `kB/s`, `MB/s` and `GB/s`
    /// go by 1000.
    ///
    /// - Throws: `badArgument` for anything else, and for nothing at all.
    public static func rate(_ text: String) throws(ClientError) -> Int64 {
        var rest = text.lowercased()[...]
        /// Takes off what the text may end with.
        func take(_ ending: String) -> Bool {
            while rest.last == " " { rest.removeLast() }
            guard rest.hasSuffix(ending) else { return false }
            rest.removeLast(ending.count)
            return true
        }
        _ = take("/s")
        let isBytes = take("b")
        let isBinary = isBytes && take("i")
        let power = ["k", "m", "g"].firstIndex { take($0) }.map { $0 + 1 } ?? 0
        while rest.last == " " { rest.removeLast() }
        var unit: Double = 1
        for _ in 0..<power { unit *= isBytes && !isBinary ? 1000 : 1024 }
        // Double would take a sign, an exponent and names, too.
        guard power > 0 || !isBinary,
            rest.utf8.allSatisfy({ Octets.isDigit($0) || $0 == UInt8(ascii: ".") }),
            [rest.utf8.first, rest.utf8.last].allSatisfy({ $0.map(Octets.isDigit) == true }),
            let number = Double(rest),
            let rate = Int64(exactly: (number * unit).rounded()), rate > 0
        else {
            throw .badArgument("a rate is written 500000, 500k, 2m, 1.5g or 2 MiB/s, not '\(text)'")
        }
        return rate
    }
}
