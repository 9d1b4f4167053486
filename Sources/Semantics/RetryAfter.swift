internal import Syntax

/// `Retry-After`: how long a server asks to be left alone (RFC 9110 §10.2.3).
public enum RetryAfter {
    /// The longest wait that is read, in seconds: about 68 years, as RFC 9111 §1.2.2 does with what
    /// is longer.
    public static let limit: Int64 = 2_147_483_648

    /// Reads a field's value, seconds or a date; nil where it is neither.
    ///
    /// - Parameters:
    ///   - value: the field's value, without the white space around it.
    ///   - now: what a date is compared with: the wall clock, or the response's own `Date`, which
    ///     does not mind when both clocks differ.
    /// - Returns: zero for a date that has passed; `limit` for what is longer.
    public static func parse(_ value: String, now: Timestamp) -> Duration? {
        if FieldSyntax.isDigits(value) {
            return .seconds(min(FieldSyntax.decimal(value) ?? limit, limit))
        }
        let instant = HTTPDate(secondsSince1970: now.milliseconds / 1000)
        guard let date = HTTPDate(parsing: value, now: instant) else { return nil }
        let wait = date.secondsSince1970 * 1000 - now.milliseconds
        return .milliseconds(min(max(wait, 0), limit * 1000))
    }
}
