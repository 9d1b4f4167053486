import Glibc
import Syntax
import TestSupport
import Testing

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

    @Test func `instants of all years are written as the C library writes them`() {
        var generator = SeededGenerator(9110)
        for _ in 0..<20_000 {
            let seconds = Int64.random(in: -62_167_219_200...253_402_300_799, using: &generator)
            let date = HTTPDate(secondsSince1970: seconds)
            #expect(date.description == Self.reference(seconds))
            #expect(HTTPDate(parsing: date.description, now: now) == date)
            #expect(HTTPDate(cacheField: date.description, now: now) == date)
        }
    }

    /// By `gmtime_r` and `strftime`, independent of the code under test; years below 1000 with
    /// zeros in front, which `%Y` leaves out.
    private static func reference(_ seconds: Int64) -> String {
        var instant = time_t(seconds)
        var parts = tm()
        gmtime_r(&instant, &parts)
        let year = String(10_000 + Int(parts.tm_year) + 1900).dropFirst()
        var bytes = [CChar](repeating: 0, count: 64)
        let count = strftime(&bytes, bytes.count, "%a, %d %b \(year) %H:%M:%S GMT", &parts)
        return String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    @Test(
        arguments: [
            (.min, "Sat, 01 Jan 0000 00:00:00 GMT"), (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)])
    func `instants beyond four digits of a year are written as the nearest`(
        seconds: Int64, text: String
    ) {
        #expect(HTTPDate(secondsSince1970: seconds).description == text)
    }

    @Test(arguments: [
        "  Sun,  06  Nov  1994  08:49:37  GMT ", "Sunday,  06-Nov-94   08:49:37 GMT",
        "Sun  Nov 6 08:49:37  1994 ", "Sun Nov  06 08:49:37 1994", "Mon, 06 Nov 1994 08:49:37 GMT",
    ])
    func `blanks may be more than they have to be, and any day of the week will do`(text: String) {
        #expect(HTTPDate(parsing: text, now: now)?.secondsSince1970 == 784_111_777)
    }

    @Test func `of a date no byte can be left out, and none added`() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov 16 08:49:37 1994",
        ] {
            for place in text.indices {
                var shorter = text
                let removed = shorter.remove(at: place)
                var longer = text
                longer.insert("x", at: place)
                #expect(HTTPDate(parsing: longer, now: now) == nil, "\(longer)")
                #expect(HTTPDate(cacheField: longer, now: now) == nil, "\(longer)")
                #expect(HTTPDate(cacheField: shorter, now: now) == nil, "\(shorter)")
                // A day of one digit is asctime's own.
                let isDay = text.contains("1994") && removed.isNumber && !text.contains(",")
                if !isDay { #expect(HTTPDate(parsing: shorter, now: now) == nil, "\(shorter)") }
            }
        }
    }

    @Test(
        arguments: [
            ("nov", 11), ("November", 11), ("JANUARY", 1), ("dec.", 12), ("no", nil), ("", nil),
            ("xnov", nil), ("n0v", nil),
        ] as [(String, Int?)])
    func `a month is known by its first three letters`(name: String, month: Int?) {
        #expect(HTTPDate.month(beginning: name.utf8) == month)
    }

    // MARK: Dates that freshness depends on

    @Test(
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 gmt",
            "SUN, 06 NOV 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "SUNDAY, 06-nOV-94 08:49:37 Gmt", "Sun Nov  6 08:49:37 1994",
            "sun nov  6 08:49:37 1994", "  Sun, 06 Nov 1994 08:49:37 GMT ",
        ])
    func `RFC 9111 4.2: dates of the three formats are read in any case`(text: String) {
        #expect(HTTPDate(cacheField: text, now: now)?.secondsSince1970 == 784_111_777)
    }

    @Test(
        arguments: [
            "", "0", "-1", "never", "784111777", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 AEST", "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
            "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sun 06 Nov 1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT",
            "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994  08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37  GMT", "Sun,\t06 Nov 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sunday, 06-Nov-94  08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
            "Sun Nov  6 08:49:37 94", "Sun  Nov 6 08:49:37 1994", "Sun Nov  6  08:49:37 1994",
            "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        ])
    func `RFC 9111 4.2, 5.3: what is not such a date to the letter is none`(text: String) {
        #expect(HTTPDate(cacheField: text, now: now) == nil)
    }
}
