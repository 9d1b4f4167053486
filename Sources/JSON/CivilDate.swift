/// A date of the proleptic Gregorian calendar, from the year 1 on.
struct CivilDate: Equatable {
    var year: Int64
    var month: Int64
    var day: Int64

    /// Days from 0000-03-01 to 1970-01-01. Years are counted from March here, so that the leap day
    /// is the last of its year, of its four years, its century and its 400 years.
    private static let epoch: Int64 = 719_468

    /// The last day of a month, 28 to 31.
    static func lastDay(ofMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Whole days since 1970-01-01, negative before it.
    var daysSince1970: Int64 {
        let years = month > 2 ? year : year - 1
        let months = (month + 9) % 12
        // From March on, the months before the n-th have 30.6 days each, rounded: (153 n + 2) / 5.
        return years * 365 + years / 4 - years / 100 + years / 400
            + (153 * months + 2) / 5 + day - 1 - CivilDate.epoch
    }
}

extension CivilDate {
    /// The date that is so many days after 1970-01-01, which may not be before the year 1.
    init(daysSince1970 days: Int64) {
        let days = days + CivilDate.epoch
        let cycles = days / 146_097
        let ofCycle = days % 146_097
        // The last century of a cycle and the last year of four are a day longer than the others.
        let centuries = min(ofCycle / 36_524, 3)
        let ofCentury = ofCycle - centuries * 36_524
        let fours = ofCentury / 1461
        let ofFour = ofCentury % 1461
        let years = min(ofFour / 365, 3)
        let ofYear = ofFour - years * 365
        let months = (5 * ofYear + 2) / 153
        day = ofYear - (153 * months + 2) / 5 + 1
        month = months < 10 ? months + 3 : months - 9
        year = cycles * 400 + centuries * 100 + fours * 4 + years + (month > 2 ? 0 : 1)
    }
}
