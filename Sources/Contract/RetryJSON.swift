package import JSON
package import Semantics

extension RetryPolicy {
    /// Writes the policy whole, with every default.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("attempts", attempts)
            json.member("statuses", statuses)
            json.object("backoff") { json in
                json.member("initial", initial)
                json.member("maximum", maximum)
                json.member("multiplier", multiplier)
            }
            json.member("respectRetryAfter", respectsRetryAfter)
            json.member("nonIdempotent", allowsNonIdempotent)
        }
    }
}
