/// An instant as HTTP writes it, to the second (RFC 9110 §5.6.7).
public struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    public let secondsSince1970: Int64

    /// An instant by its seconds.
    public init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

    /// Reads any of the three formats: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`,
    /// `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Parameters:
    ///   - text: the field's value; the day of the week must be one, but not the right one.
    ///   - now: tells the century of two-digit years: none lies more than 50 years ahead.
    public init?(parsing text: String, now: HTTPDate) {
        guard text.utf8.count <= Self.byteLimit else { return nil }
        let words = text.split(separator: " ")
        let parsed: (day: CivilDay, seconds: Int64)? =
            switch words.count {
            case 6: Self.internetMessageFormat(words)
            case 4: Self.rfc850Format(words, nowYear: CivilDay(instant: now.secondsSince1970).year)
            case 5: Self.asctimeFormat(words)
            default: nil
            }
        guard let parsed else { return nil }
        self.secondsSince1970 = parsed.day.daysSince1970 * 86_400 + parsed.seconds
    }

    /// The most bytes of a date that is read; the longest there is has 33.
    static let byteLimit = 64

    /// The format to send: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let day = CivilDay(instant: secondsSince1970)
        let seconds = secondsSince1970 - day.daysSince1970 * 86_400
        let weekday = Self.weekdays[Int((day.daysSince1970 % 7 + 11) % 7)].prefix(3)
        let time = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { Self.padded($0, 2) }
        return "\(weekday), \(Self.padded(Int64(day.day), 2)) \(Self.months[day.month - 1]) "
            + "\(Self.padded(day.year, 4)) \(time.joined(separator: ":")) GMT"
    }

    /// Earlier is less.
    public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSince1970 < right.secondsSince1970
    }

    private typealias Parsed = (day: CivilDay, seconds: Int64)

    private static func internetMessageFormat(_ words: [Substring]) -> Parsed? {
        guard words[5] == "GMT", weekdays.contains(where: { $0.prefix(3) + "," == words[0] }) else {
            return nil
        }
        return parsed(year: number(words[3], 4), words[2], number(words[1], 2), words[4])
    }

    private static func rfc850Format(_ words: [Substring], nowYear: Int64) -> Parsed? {
        let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
        guard words[3] == "GMT", weekdays.contains(where: { $0 + "," == words[0] }),
            parts.count == 3,
            let shortYear = number(parts[2], 2)
        else { return nil }
        let latest = nowYear + 50
        let year = latest - (latest - shortYear) % 100
        return parsed(year: year, parts[1], number(parts[0], 2), words[2])
    }

    private static func asctimeFormat(_ words: [Substring]) -> Parsed? {
        guard weekdays.contains(where: { $0.prefix(3) == words[0] }) else { return nil }
        let day = number(words[2], words[2].utf8.count == 1 ? 1 : 2)
        return parsed(year: number(words[4], 4), words[1], day, words[3])
    }

    private static func parsed(
        year: Int64?, _ monthName: Substring, _ day: Int64?, _ time: Substring
    ) -> Parsed? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard let year, let day, let month = months.firstIndex(where: { $0 == monthName }),
            let civil = CivilDay(year: year, month: month + 1, day: Int(day)), parts.count == 3,
            let hour = number(parts[0], 2), let minute = number(parts[1], 2),
            let second = number(parts[2], 2), hour < 24, minute < 60,
            second <= 60  // 60 is a leap second
        else { return nil }
        return (civil, hour * 3600 + minute * 60 + second)
    }

    private static func number(_ text: Substring, _ digits: Int) -> Int64? {
        text.utf8.count == digits ? FieldSyntax.decimal(text) : nil
    }

    private static func padded(_ number: Int64, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    private static let weekdays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}

/// A day of the Gregorian calendar, also before its introduction.
struct CivilDay: Equatable {
    let year: Int64
    /// 1…12.
    let month: Int
    /// 1…31.
    let day: Int

    /// Nil for a day that the month does not have.
    init?(year: Int64, month: Int, day: Int) {
        guard (1...12).contains(month), day >= 1, day <= Self.length(ofMonth: month, year: year)
        else {
            return nil
        }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day of an instant in seconds since 1970.
    init(instant: Int64) {
        // Years begin in March here, so that the leap day is the last; eras are 400 years of 146,097 days.
        let days = Self.floorDivide(instant, 86_400) + 719_468
        let era = Self.floorDivide(days, 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        self.day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        self.month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        self.year = yearOfEra + era * 400 + (self.month <= 2 ? 1 : 0)
    }

    /// Days from 1970-01-01 to this day.
    var daysSince1970: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = Self.floorDivide(shifted, 400)
        let yearOfEra = shifted - era * 400
        let monthFromMarch = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    private static func length(ofMonth month: Int, year: Int64) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
        let quotient = number / divisor
        return number % divisor < 0 ? quotient - 1 : quotient
    }
}
