public import Syntax

extension HTTPDate {
    /// Reads the date of an `Expires` attribute by the algorithm of RFC 6265bis §5.1.1.
    ///
    /// It looks for a time, a day, a month and a year, in about any order and with about anything
    /// between them: what servers have written since 1994. Two digits are a year of 1970…2069,
    /// zones are not looked at. Nil where a part is missing, and for what the calendar does not
    /// have.
    public init?(cookieDate text: some StringProtocol) {
        var time: (hour: Int64, minute: Int64, second: Int64)?
        var day: Int64?
        var month: Int?
        var year: Int64?
        for token in text.utf8.split(whereSeparator: Self.isDelimiter) {
            // A token is what it is first taken for: a day must not be read from the time.
            if time == nil, let read = Self.time(token) {
                time = read
            } else if day == nil, let read = Self.number(token, digits: 1...2) {
                day = read
            } else if month == nil, let read = HTTPDate.month(beginning: token) {
                month = read
            } else if year == nil, let read = Self.number(token, digits: 2...4) {
                year = read
            }
        }
        guard let time, let day, let month, var year else { return nil }
        switch year {
        case 70...99: year += 1900
        case 0...69: year += 2000
        default: break
        }
        guard year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59,
            let civil = CivilDate(year: year, month: month, day: Int(day))
        else { return nil }
        self.init(
            secondsSince1970: civil.daysSince1970 * 86_400 + time.hour * 3600 + time.minute * 60
                + time.second)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// `hms-time [ non-digit *OCTET ]`, in whatever range.
    private static func time<Bytes: Collection<UInt8>>(
        _ token: Bytes
    ) -> (hour: Int64, minute: Int64, second: Int64)? where Bytes.SubSequence == Bytes {
        var rest = token
        guard let hour = number(rest, digits: 1...2), skipField(&rest),
            let minute = number(rest, digits: 1...2), skipField(&rest),
            let second = number(rest, digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    /// Steps behind digits and a colon; false where there is no colon.
    private static func skipField<Bytes: Collection<UInt8>>(_ rest: inout Bytes) -> Bool
    where Bytes.SubSequence == Bytes {
        rest = rest.drop(while: Octets.isDigit)
        guard rest.first == UInt8(ascii: ":") else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// So many digits, then the end or anything that is no digit.
    private static func number(
        _ token: some Collection<UInt8>, digits: ClosedRange<Int>
    ) -> Int64? {
        var value: Int64 = 0
        var count = 0
        for byte in token {
            guard Octets.isDigit(byte) else { break }
            count += 1
            guard count <= digits.upperBound else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return count >= digits.lowerBound ? value : nil
    }
}
