import Glibc
import Syntax
import TestSupport
import Testing

struct CivilDateTests {
    @Test(
        arguments: [
            (1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (2000, 3, 1, 11_017),
            (1, 1, 1, -719_162), (0, 2, 29, -719_469), (0, 3, 1, -719_468), (-1, 12, 31, -719_529),
            (9999, 12, 31, 2_932_896), (10_000, 1, 1, 2_932_897),
        ] as [(Int64, Int, Int, Int64)])
    func `known days, both ways`(year: Int64, month: Int, day: Int, days: Int64) throws {
        let date = try #require(CivilDate(year: year, month: month, day: day))
        #expect(date.daysSince1970 == days)
        #expect(CivilDate(daysSince1970: days) == date)
    }

    @Test(
        arguments: [
            (2023, 2, 29), (1900, 2, 29), (2100, 2, 29), (2024, 2, 30), (2024, 4, 31),
            (2024, 0, 1), (2024, 13, 1), (2024, 1, 0), (2024, 1, 32), (2024, 1, -1),
        ] as [(Int64, Int, Int)])
    func `a day that no calendar has is none`(year: Int64, month: Int, day: Int) {
        #expect(CivilDate(year: year, month: month, day: day) == nil)
    }

    @Test(arguments: [(2000, 29), (1900, 28), (2024, 29), (2023, 28), (0, 29), (-4, 29)])
    func `February is longer every fourth year, but for three centuries of four`(
        year: Int64, days: Int
    ) {
        #expect(CivilDate.lastDay(ofMonth: 2, year: year) == days)
    }

    @Test func `days are those of the C library, before 1970 and up to the year 9999`() {
        var generator = SeededGenerator(1970)
        for _ in 0..<50_000 {
            let seconds = Int64.random(in: -62_135_596_800...253_402_300_799, using: &generator)
            var instant = time_t(seconds)
            var parts = tm()
            gmtime_r(&instant, &parts)
            let date = CivilDate(secondsSince1970: seconds)
            let isSame =
                date.year == Int64(parts.tm_year) + 1900 && date.month == Int(parts.tm_mon) + 1
                && date.day == Int(parts.tm_mday) && date.weekday == Int(parts.tm_wday)
                && CivilDate(daysSince1970: date.daysSince1970) == date
            if !isSame { Issue.record("\(seconds): \(date)") }
        }
    }
}
