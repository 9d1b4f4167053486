import Testing

import Semantics

struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37.250 GMT.
    private let now = Timestamp(milliseconds: 784_111_777_250)

    @Test(
        arguments: [
            ("0", 0), ("120", 120_000), ("007", 7000), ("2147483648", 2_147_483_648_000),
            ("2147483649", 2_147_483_648_000), ("99999999999999999999999", 2_147_483_648_000),
            ("Sun, 06 Nov 1994 08:49:38 GMT", 750), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("Sat, 05 Nov 1994 08:49:37 GMT", 0), ("Mon, 01 Jan 0001 00:00:00 GMT", 0),
            ("Sunday, 06-Nov-94 08:51:37 GMT", 119_750), ("Sun Nov  6 08:51:37 1994", 119_750),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 2_147_483_648_000),
        ] as [(String, Int64)])
    func `Retry-After is read in both forms, and dates in all of theirs (RFC 9110, 10.2.3)`(
        text: String, milliseconds: Int64
    ) {
        #expect(RetryAfter.parse(text, now: now) == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        "", "-1", "+1", "1.5", "1 ", "1s", "soon", "0x10", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Nov 1994 08:49:37 GMT", "٣",
    ])
    func `what is neither seconds nor a date is none`(text: String) {
        #expect(RetryAfter.parse(text, now: now) == nil)
    }
}
