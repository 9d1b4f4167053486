internal import Syntax

/// Instants as text, as RFC 3339 writes them, and as milliseconds since 1970-01-01T00:00:00Z.
///
/// Dates are those of the proleptic Gregorian calendar; every day has 86,400 seconds.
public enum RFC3339 {
    /// The instants that have a text here: the years 0001 to 9999 in UTC.
    public static let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    static let millisecondsPerDay: Int64 = 86_400_000

    /// The text in UTC, always 24 bytes: `2026-11-21T06:30:00.123Z`.
    ///
    /// An instant outside of `range` is written as the nearest one inside.
    public static func text(milliseconds: Int64) -> String {
        var output = ByteBuffer(capacity: 24)
        append(milliseconds: milliseconds, to: &output)
        return output.text
    }

    /// The instant that `text` names; nil when that is no RFC 3339 date-time or outside of `range`.
    ///
    /// Takes any offset and any number of fraction digits, of which those behind the milliseconds
    /// are cut off; `t` and `z` may be small (§5.6). A leap second is taken where one can be, at
    /// the end of a month in UTC (§5.7), and is the first instant of the next day.
    public static func milliseconds(_ text: String) -> Int64? {
        var reader = DateTimeReader(Array(text.utf8))
        guard let instant = reader.instant(), range.contains(instant) else { return nil }
        return instant
    }

    /// Appends what `text(milliseconds:)` gives.
    static func append(milliseconds: Int64, to output: inout ByteBuffer) {
        let instant = min(max(milliseconds, range.lowerBound), range.upperBound)
        // The first instant is midnight, so what has passed since then is never negative.
        let ofDay = (instant - range.lowerBound) % millisecondsPerDay
        let date = CivilDate(daysSince1970: (instant - ofDay) / millisecondsPerDay)
        let (year, milliseconds) = (UInt32(date.year), UInt32(ofDay))
        output.append("0000-00-00T00:00:00.000Z")
        output.withLast(24) { text in
            putTwoDigits(of: year / 100, at: 0, in: text)
            putTwoDigits(of: year % 100, at: 2, in: text)
            putTwoDigits(of: UInt32(date.month), at: 5, in: text)
            putTwoDigits(of: UInt32(date.day), at: 8, in: text)
            putTwoDigits(of: milliseconds / 3_600_000, at: 11, in: text)
            putTwoDigits(of: milliseconds / 60_000 % 60, at: 14, in: text)
            putTwoDigits(of: milliseconds / 1000 % 60, at: 17, in: text)
            putTwoDigits(of: milliseconds % 1000 / 10, at: 20, in: text)
            text[22] += UInt8(truncatingIfNeeded: milliseconds % 10)
        }
    }

    @inline(__always)
    private static func putTwoDigits(
        of number: UInt32, at place: Int, in text: UnsafeMutableBufferPointer<UInt8>
    ) {
        text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10)
        text[place + 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10)
    }
}

/// Reads the `date-time` of RFC 3339 §5.6, and nothing else.
private struct DateTimeReader {
    private let text: [UInt8]
    private var index = 0

    init(_ text: [UInt8]) { self.text = text }

    mutating func instant() -> Int64? {
        guard let date = date(), take("T") || take("t"),
            let hour = number(2, in: 0...23), take(":"),
            let minute = number(2, in: 0...59), take(":"),
            let second = number(2, in: 0...60),
            let fraction = fraction(), let offset = offset(), index == text.count
        else { return nil }
        let minutes = date.daysSince1970 * 1440 + hour * 60 + minute - offset
        let instant = (minutes * 60 + second) * 1000 + fraction
        if second == 60 {
            let next = instant - fraction
            guard next % RFC3339.millisecondsPerDay == 0,
                CivilDate(daysSince1970: next / RFC3339.millisecondsPerDay).day == 1
            else { return nil }
            return next
        }
        return instant
    }

    private mutating func date() -> CivilDate? {
        guard let year = number(4, in: 1...9999), take("-"),
            let month = number(2, in: 1...12), take("-"),
            let day = number(2, in: 1...31)
        else { return nil }
        return CivilDate(year: year, month: Int(month), day: Int(day))
    }

    /// The milliseconds of a second's fraction, 0 when there is none.
    private mutating func fraction() -> Int64? {
        guard take(".") else { return 0 }
        var milliseconds: Int64 = 0
        var unit: Int64 = 100
        let start = index
        while let digit = digit() {
            milliseconds += digit * unit
            unit /= 10
        }
        return index > start ? milliseconds : nil
    }

    /// Minutes east of UTC.
    private mutating func offset() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let sign: Int64 = take("-") ? -1 : 1
        guard sign < 0 || take("+"), let hours = number(2, in: 0...23), take(":"),
            let minutes = number(2, in: 0...59)
        else { return nil }
        return sign * (hours * 60 + minutes)
    }

    private mutating func number(_ digits: Int, in range: ClosedRange<Int64>) -> Int64? {
        var number: Int64 = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return range.contains(number) ? number : nil
    }

    private mutating func digit() -> Int64? {
        guard index < text.count, Octets.isDigit(text[index]) else { return nil }
        defer { index += 1 }
        return Int64(text[index] - 0x30)
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard index < text.count, text[index] == UInt8(ascii: scalar) else { return false }
        index += 1
        return true
    }
}
