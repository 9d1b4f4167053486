internal import Syntax

extension Timestamp {
    /// The second that the instant lies in.
    var httpDate: HTTPDate {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        return HTTPDate(secondsSince1970: rest < 0 ? seconds - 1 : seconds)
    }

    /// The time from an earlier instant to this one; 0 where that one is later.
    func milliseconds(since earlier: Timestamp) -> Int64 {
        guard earlier < self else { return 0 }
        let (elapsed, isOverflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        // A year is 3 * 10^10: what is kept with an absurd instant is old, and sums with it still
        // fit.
        return isOverflow ? Self.longest : min(elapsed, Self.longest)
    }

    private static let longest: Int64 = .max / 8
}
