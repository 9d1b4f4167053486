/// A day of the Gregorian calendar, also before its introduction (ISO 8601: the year 0 is a leap
/// year, negative ones come before it).
public struct CivilDate: Hashable, Sendable {
    /// Any year within a thousand million of 0.
    public let year: Int64
    /// 1…12.
    public let month: Int
    /// 1…31.
    public let day: Int

    /// Days from 0000-03-01 to 1970-01-01. Years are counted from March here, so that the leap day
    /// is the last of its year, of its four years, its century and its 400 years.
    private static let epoch: Int64 = 719_468
    private static let daysOf400Years: Int64 = 146_097

    /// A day by its numbers; nil for one that the month does not have.
    public init?(year: Int64, month: Int, day: Int) {
        guard (1...12).contains(month), day >= 1,
            day <= CivilDate.lastDay(ofMonth: month, year: year)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that is so many days after 1970-01-01, before it for negative numbers.
    public init(daysSince1970 days: Int64) {
        let days = days + CivilDate.epoch
        let era = floorDivide(days, CivilDate.daysOf400Years)
        let dayOfEra = days - era * CivilDate.daysOf400Years
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let months = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * months + 2) / 5 + 1)
        month = Int(months < 10 ? months + 3 : months - 9)
        year = yearOfEra + era * 400 + (months < 10 ? 0 : 1)
    }

    /// The day that an instant lies in, given in seconds since 1970-01-01T00:00:00Z.
    public init(secondsSince1970 seconds: Int64) {
        self.init(daysSince1970: floorDivide(seconds, 86_400))
    }

    /// Whole days since 1970-01-01, negative before it.
    public var daysSince1970: Int64 {
        let shifted = month > 2 ? year : year - 1
        let era = floorDivide(shifted, 400)
        let yearOfEra = shifted - era * 400
        // From March on, the months before the n-th have 30.6 days each, rounded: (153 n + 2) / 5.
        let months = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * months + 2) / 5 + Int64(day) - 1
        return era * CivilDate.daysOf400Years + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100
            + dayOfYear - CivilDate.epoch
    }

    /// 0 for Sunday up to 6 for Saturday.
    public var weekday: Int {
        let days = daysSince1970 + 4  // 1970-01-01 was a Thursday.
        return Int(days - floorDivide(days, 7) * 7)
    }

    /// How many days a month has.
    ///
    /// - Parameters:
    ///   - month: 1…12.
    ///   - year: Any year.
    /// - Returns: 28…31.
    public static func lastDay(ofMonth month: Int, year: Int64) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// The quotient, rounded down also below 0.
private func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
    let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? quotient - 1 : quotient
}
