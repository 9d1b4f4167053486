internal import HTTP
internal import JSON
internal import Semantics

/// When an attempt is made again, as a client describes it (`Retry` of openapi.yaml), read but not
/// judged.
struct RetryDraft {
    private var attempts = 0
    private var statuses = RetryPolicy.transientStatuses
    private var initial = 1.0
    private var maximum = 60.0
    private var multiplier = 2.0
    private var respectsRetryAfter = true
    private var allowsNonIdempotent = false

    init(_ reader: inout JSONReader) throws(JSONError) {
        var hasAttempts = false
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "attempts":
                attempts = try reader.int()
                hasAttempts = true
            case "statuses":
                statuses = []
                try reader.array { r throws(JSONError) in
                    // Of too many, one more than the policy takes.
                    guard statuses.count <= RetryPolicy.statusRange.count else {
                        return try r.skipValue()
                    }
                    statuses.append(try r.int())
                }
            case "backoff": try readBackoff(&reader)
            case "respectRetryAfter": respectsRetryAfter = try reader.bool()
            case "nonIdempotent": allowsNonIdempotent = try reader.bool()
            default: throw reader.unknownMember(name)
            }
        }
        if !hasAttempts { throw reader.fail("is missing", at: "attempts") }
    }

    private mutating func readBackoff(_ reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "initial": initial = try reader.double()
            case "maximum": maximum = try reader.double()
            case "multiplier": multiplier = try reader.double()
            default: throw reader.unknownMember(name)
            }
        }
    }

    /// The policy that is asked for; a 422 for the first member that is out of its range.
    func policy(at pointer: String) throws(Problem) -> RetryPolicy {
        do {
            return try RetryPolicy(
                attempts: attempts, statuses: statuses, initial: initial, maximum: maximum,
                multiplier: multiplier, respectsRetryAfter: respectsRetryAfter,
                allowsNonIdempotent: allowsNonIdempotent)
        } catch {
            throw ProblemCode.invalidValue.problem(error.sentence, at: pointer + error.member)
        }
    }
}

extension RetryPolicy.Violation {
    /// The member of the description that is wrong.
    fileprivate var member: String {
        switch self {
        case .attempts: "/attempts"
        case .statuses: "/statuses"
        case .status(let index): "/statuses/\(index)"
        case .initial: "/backoff/initial"
        case .maximum: "/backoff/maximum"
        case .multiplier: "/backoff/multiplier"
        }
    }
}
