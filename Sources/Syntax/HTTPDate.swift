/// An instant as HTTP writes it, to the second (RFC 9110 §5.6.7).
public struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    public let secondsSince1970: Int64

    /// An instant by its seconds.
    public init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

    /// Reads any of the three formats: `Sun, 06 Nov 1994 08:49:37 GMT`,
    /// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Parameters:
    ///   - text: The field's value. Blanks may be more than they have to be; the day of the week
    ///     must be one, but not the right one.
    ///   - now: Tells the century of two-digit years: none lies more than 50 years ahead.
    public init?(parsing text: String, now: HTTPDate) {
        self.init(text, .anyBlanks, now)
    }

    /// Reads a date that freshness depends on: to the letter, but in any case (RFC 9111 §4.2).
    ///
    /// A date that an origin wrote with other blanks or with another zone than `GMT` is not one:
    /// freshness that rests on a guess is none.
    ///
    /// - Parameters:
    ///   - text: The field's value, with or without white space around it.
    ///   - now: Tells the century of two-digit years: none lies more than 50 years ahead.
    public init?(cacheField text: String, now: HTTPDate) {
        self.init(text, .anyCase, now)
    }

    private init?(_ text: String, _ leniency: HTTPDateReader.Leniency, _ now: HTTPDate) {
        guard text.utf8.count <= HTTPDateReader.byteLimit else { return nil }
        let seconds = text.utf8Span.span.withUnsafeBufferPointer { bytes in
            var reader = HTTPDateReader(bytes, leniency, now: now)
            return reader.seconds()
        }
        guard let seconds else { return nil }
        self.secondsSince1970 = seconds
    }

    /// The format to send, 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// An instant outside of the years 0000 to 9999 is written as the nearest one inside.
    public var description: String {
        String(unsafeUninitializedCapacity: 29) { output in
            let range = HTTPDate.range
            let instant = min(max(secondsSince1970, range.lowerBound), range.upperBound)
            let date = CivilDate(secondsSince1970: instant)
            let seconds = Int(instant - date.daysSince1970 * 86_400)
            var count = 0
            func put(_ text: StaticString, from start: Int = 0, count length: Int) {
                for index in start..<start + length {
                    output[count] = text.utf8Start[index]
                    count += 1
                }
            }
            func put(twoDigits number: Int) {
                output[count] = 0x30 + UInt8(truncatingIfNeeded: number / 10)
                output[count + 1] = 0x30 + UInt8(truncatingIfNeeded: number % 10)
                count += 2
            }
            put(DateNames.weekdays[date.weekday], count: 3)
            put(", ", count: 2)
            put(twoDigits: date.day)
            put(" ", count: 1)
            put(DateNames.months, from: 3 * (date.month - 1), count: 3)
            put(" ", count: 1)
            put(twoDigits: Int(date.year) / 100)
            put(twoDigits: Int(date.year) % 100)
            put(" ", count: 1)
            put(twoDigits: seconds / 3600)
            put(":", count: 1)
            put(twoDigits: seconds / 60 % 60)
            put(":", count: 1)
            put(twoDigits: seconds % 60)
            put(" GMT", count: 4)
            return count
        }
    }

    /// From 0000-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
    private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// Earlier is less.
    public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSince1970 < right.secondsSince1970
    }

    /// The month that a name begins with, in any case of letters; nil where its first three letters
    /// are no month's.
    ///
    /// - Returns: 1…12.
    public static func month(beginning name: some Collection<UInt8>) -> Int? {
        let letters = name.prefix(3)
        return (1...12).first { month in
            let start = DateNames.months.utf8Start + 3 * (month - 1)
            return Octets.equalIgnoringCase(letters, UnsafeBufferPointer(start: start, count: 3))
        }
    }
}

/// The names of RFC 9110 §5.6.7.
enum DateNames {
    /// From Sunday on; the first three letters are the short name.
    static let weekdays: [StaticString] = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    /// Three letters each, from January on.
    static let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
}
