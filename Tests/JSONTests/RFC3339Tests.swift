import TestSupport
import JSON
import Testing

/// RFC 3339 §5.6 and §5.7.
struct RFC3339Tests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_242_600_123, "2026-11-21T06:30:00.123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func `known instants, both ways`(milliseconds: Int64, text: String) {
        #expect(RFC3339.text(milliseconds: milliseconds) == text)
        #expect(RFC3339.milliseconds(text) == milliseconds)
    }

    @Test
    func `the first and last day of every month from 0001 to 9999 follow one another`() {
        func padded(_ number: Int, _ digits: Int) -> String {
            String(String(number + 100_000).suffix(digits))
        }
        var days: Int64 = -719_162
        for year in 1...9999 {
            let isLeap = year % 400 == 0 || year % 100 != 0 && year % 4 == 0
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            for (month, length) in lengths.enumerated() {
                let prefix = "\(padded(year, 4))-\(padded(month + 1, 2))-"
                let first = "\(prefix)01T00:00:00.000Z"
                let last = "\(prefix)\(length)T23:59:59.999Z"
                let next = days + Int64(length)
                let isRight =
                    RFC3339.milliseconds(first) == days * 86_400_000
                    && RFC3339.text(milliseconds: days * 86_400_000) == first
                    && RFC3339.milliseconds(last) == next * 86_400_000 - 1
                    && RFC3339.text(milliseconds: next * 86_400_000 - 1) == last
                    && RFC3339.milliseconds("\(prefix)\(length + 1)T00:00:00Z") == nil
                if !isRight { Issue.record("\(prefix)") }
                days = next
            }
        }
        #expect(days == 2_932_897)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01t00:00:00z", 0),
            ("1970-01-01T00:00:00+00:00", 0),
            ("1970-01-01T00:00:00-00:00", 0), ("1970-01-01T01:30:00+01:30", 0),
            ("1969-12-31T16:00:00-08:00", 0), ("1970-01-01T23:59:00+23:59", 0),
            ("1970-01-01T00:00:00.1Z", 100), ("1970-01-01T00:00:00.12Z", 120),
            ("1970-01-01T00:00:00.1239Z", 123),
            ("1970-01-01T00:00:00.0009999999999999999999999Z", 0),
            ("1969-12-31T23:59:59.9999Z", -1),
            // Leap seconds, at the end of a month in UTC.
            ("1990-12-31T23:59:60Z", 662_688_000_000),
            ("1990-12-31T15:59:60-08:00", 662_688_000_000),
            ("1990-12-31T23:59:60.9Z", 662_688_000_000),
            ("2015-07-01T08:59:60+09:00", 1_435_708_800_000),
            ("0001-01-01T05:00:00+05:00", -62_135_596_800_000),
            ("9999-12-31T22:59:59.999-01:00", 253_402_300_799_999),
        ] as [(String, Int64)])
    func `every form of the RFC is read`(text: String, milliseconds: Int64) {
        #expect(RFC3339.milliseconds(text) == milliseconds)
    }

    @Test(arguments: [
        "", "1970", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z",
        "1970-1-1T00:00:00Z",
        "1970-01-01T00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z",
        "1970-13-01T00:00:00Z", "1970-00-01T00:00:00Z", "1970-01-00T00:00:00Z",
        "1970-01-32T00:00:00Z",
        "1900-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
        "2023-04-31T00:00:00Z",
        "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00,5Z", "1970-01-01T00:00:00+0000",
        "1970-01-01T00:00:00+00", "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+00:60",
        "1970-01-01T00:00:00 Z", "1970-01-01T00:00:00Zx", " 1970-01-01T00:00:00Z",
        "+1970-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z", "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z", "1990-12-31T23:58:60Z",
        "1990-12-30T23:59:60Z", "1990-12-31T23:59:60+01:00", "１970-01-01T00:00:00Z",
        "1970-01-01T0é:00:00Z", "19700101T000000Z", "1970-001T00:00:00Z",
    ])
    func `anything else is refused`(text: String) {
        #expect(RFC3339.milliseconds(text) == nil)
    }

    @Test
    func `an instant outside of the years 0001 to 9999 is written as the nearest inside`() {
        #expect(RFC3339.text(milliseconds: .min) == "0001-01-01T00:00:00.000Z")
        #expect(RFC3339.text(milliseconds: .max) == "9999-12-31T23:59:59.999Z")
    }

    @Test
    func `random instants come back`() {
        var generator = SeededGenerator(5)
        for _ in 0..<10_000 {
            let instant = Int64.random(in: RFC3339.range, using: &generator)
            #expect(RFC3339.milliseconds(RFC3339.text(milliseconds: instant)) == instant)
        }
    }
}
