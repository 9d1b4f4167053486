import Syntax
import Testing

import Semantics

/// RFC 6265bis §5.1.1.
struct CookieDateTests {
    /// 1994-11-06T08:49:37Z.
    private static let instant: Int64 = 784_111_777

    @Test(arguments: [
        // The three forms of HTTP.
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        // Netscape's, and its relatives.
        "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 6-Nov-1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun 06-Nov-1994 08:49:37 GMT", "06-Nov-1994 08:49:37", "6 Nov 94 08:49:37",
        // In another order: the first token that can be a part is it.
        "1994 Nov 06 08:49:37", "08:49:37 1994 06 Nov", "Nov 1994 08:49:37 06",
        "08:49:37 06 1994 Nov", "06 94 Nov 08:49:37",
        // With other things between and behind.
        "Sun, 06\tNov\t1994\t08:49:37\tGMT", "06/Nov/1994 08:49:37", "06_Nov_1994_08:49:37",
        "  Sun, 06 Nov 1994 08:49:37 GMT  ", "(06) [Nov] {1994} \"08:49:37\"",
        "Sun, 06 Nov 1994 08:49:37 +0100", "Sun, 06 Nov 1994 08:49:37 PST",
        "Sun, 06 Nov 1994 08:49:37.123 GMT", "Sun, 06 Nov 1994 08:49:37Z",
        "06-Nov-1994;08:49:37", "Sun; 06 Nov 1994 08:49:37", "06,Nov,1994,08:49:37",
        // Digits with something behind, months by three letters in any case.
        "06th November 1994 08:49:37am", "06x nOVember 1994y 8:49:37z", "6 NOV 1994 08:49:37 gmt",
        "Sun, 06 Novembre 1994 08:49:37", "06\u{e9} Nov 1994 08:49:37",
        "6 Nov 1994 08:49:37:59", "Sun, 06 Nov 1994 08:49:37 GMT; path=/",
        // A second time is a day's or a year's candidate, when those are still open.
        "08:49:37 06:11:12 Nov 1994", "Nov 08:49:37 06:00 1994",
        // What follows the last part is not looked at.
        "06 Nov 1994 08:49:37 1995 31 Dec 23:59:59",
    ])
    func `every historic form of one instant is read`(text: String) {
        #expect(HTTPDate(cookieDate: text)?.secondsSince1970 == Self.instant)
    }

    @Test(
        arguments: [
            ("01 Jan 70 00:00:00", 0), ("01 Jan 1970 00:00:00", 0),
            ("31 Dec 69 23:59:59", 3_155_759_999), ("01 Jan 00 00:00:00", 946_684_800),
            ("31 Dec 99 23:59:59", 946_684_799), ("01 Jan 1601 00:00:00", -11_644_473_600),
            ("31 Dec 9999 23:59:59", 253_402_300_799), ("29 Feb 2024 0:0:0", 1_709_164_800),
            ("1 Jan 2026 1:2:3", 1_767_229_323), ("Thu, 01-Jan-1970 00:00:01 GMT", 1),
        ] as [(String, Int64)])
    func `two digits are years from 1970 to 2069, four begin in 1601`(
        text: String, seconds: Int64
    ) {
        #expect(HTTPDate(cookieDate: text)?.secondsSince1970 == seconds)
    }

    @Test(arguments: [
        "", " ", "0", "-1", "soon", "Session", "784111777",
        // A part is missing.
        "06 Nov 1994", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 08:49:37",
        "Mon, 18 Apr 22:51:09", "06 Nov 1994 08:49", "06 Nov 1994 084937",
        "1994-11-06 08:49:37", "1994-11-06T08:49:37Z", "06.11.1994 08:49:37",
        // Too many or too few digits.
        "006 Nov 1994 08:49:37", "06 Nov 19940 08:49:37", "06 Nov 4 08:49:37",
        "06 Nov 1994 008:49:37", "06 Nov 1994 08:049:37", "06 Nov 1994 08:49:037",
        "06 Nov 1994 08::37", "06 No 1994 08:49:37", "06 N\u{f6}v 1994 08:49:37",
        // Beyond the calendar and the clock; leap seconds have no form.
        "00 Nov 1994 08:49:37", "32 Nov 1994 08:49:37", "31 Nov 1994 08:49:37",
        "30 Feb 2024 08:49:37", "29 Feb 2023 08:49:37", "29 Feb 2100 08:49:37",
        "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60",
        "31 Dec 1600 23:59:59", "06 Nov 100 08:49:37",
        // A colon does not divide.
        "06:Nov:1994 08:49:37 Nov",
    ])
    func `what lacks a part or is no day is no date`(text: String) {
        #expect(HTTPDate(cookieDate: text) == nil)
    }

    @Test func `every month is known by its first letters`() {
        let months = [
            "January", "FEBRUARY", "mar", "Apr.", "May", "june", "JUL", "Aug", "Sept", "october",
            "Nov", "dec",
        ]
        for (index, month) in months.enumerated() {
            let read = HTTPDate(cookieDate: "15 \(month) 2001 12:00:00")?.description
            let written = month.prefix(1).uppercased() + month.prefix(3).dropFirst().lowercased()
            #expect(read?.dropFirst(8).hasPrefix("\(written) 2001") == true, "month \(index + 1)")
        }
    }

    @Test func `what HTTP writes is read as it is, for 400 years`() {
        for day in stride(from: Int64(-134_000), to: 117_000, by: 31) {
            let date = HTTPDate(secondsSince1970: day * 86_400 + 45_296)
            guard HTTPDate(cookieDate: date.description) == date else {
                Issue.record("day \(day): \(date)")
                return
            }
        }
    }
}
