import Testing

import Semantics

struct HTTPDateTests {
    /// 2026-01-01T00:00:00Z.
    private let now = HTTPDate(secondsSince1970: 1_767_225_600)

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
            ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
            ("Sun, 28 Feb 2100 00:00:00 GMT", 4_107_456_000),
        ] as [(String, Int64)])
    func `the format to send is read and written (RFC 9110, section 5.6.7)`(
        text: String, seconds: Int64
    ) {
        #expect(HTTPDate(parsing: text, now: now)?.secondsSince1970 == seconds)
        #expect(HTTPDate(secondsSince1970: seconds).description == text)
    }

    @Test(
        arguments: [
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Wed Nov 16 08:49:37 1994", 784_975_777),
            ("Saturday, 01-Jan-00 00:00:00 GMT", 946_684_800),
            ("Friday, 01-Jan-76 00:00:00 GMT", 3_345_062_400),  // 2076, 50 years ahead
            ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),  // 1977
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),  // a leap second
        ] as [(String, Int64)])
    func `the obsolete formats are read`(text: String, seconds: Int64) {
        #expect(HTTPDate(parsing: text, now: now)?.secondsSince1970 == seconds)
    }

    @Test(arguments: [
        "", "0", "-1", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Xxx, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 29 Feb 2100 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49 1994", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT x",
    ])
    func `what is no date is refused`(text: String) {
        #expect(HTTPDate(parsing: text, now: now) == nil)
    }

    @Test func `every day of 400 years is read as it is written`() {
        for day in stride(from: Int64(-30_000), to: 117_000, by: 1) {
            let date = HTTPDate(secondsSince1970: day * 86_400 + 45_296)
            guard HTTPDate(parsing: date.description, now: now) == date else {
                Issue.record("day \(day): \(date)")
                return
            }
        }
    }
}
