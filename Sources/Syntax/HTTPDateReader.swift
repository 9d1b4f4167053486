/// Reads a date in any of the formats of RFC 9110 §5.6.7, from bytes that somebody else keeps.
struct HTTPDateReader {
    /// The most bytes of a date that is read; the longest there is has 33.
    static let byteLimit = 64

    /// What need not be to the letter.
    enum Leniency {
        /// How many blanks there are between the words and around them.
        case anyBlanks
        /// The case of letters, and the white space around the date.
        case anyCase
    }

    private let text: UnsafeBufferPointer<UInt8>
    private let leniency: Leniency
    private let now: HTTPDate
    private var index = 0
    private var end: Int

    init(_ text: UnsafeBufferPointer<UInt8>, _ leniency: Leniency, now: HTTPDate) {
        self.text = text
        self.leniency = leniency
        self.now = now
        end = text.count
    }

    /// Seconds since 1970-01-01T00:00:00Z; nil for what is no date.
    mutating func seconds() -> Int64? {
        trim()
        guard let weekday = weekday() else { return nil }
        let seconds: Int64?
        if !take(",") {
            seconds = weekday.isShort ? asctime() : nil
        } else {
            seconds = weekday.isShort ? internetMessage() : rfc850()
        }
        return index == end ? seconds : nil
    }

    // MARK: The formats, behind the day of the week and its comma

    /// ` 06 Nov 1994 08:49:37 GMT`.
    private mutating func internetMessage() -> Int64? {
        guard blank(), let day = number(2), blank(), let month = month(), blank(),
            let year = number(4), blank(), let time = time(), blank(), takeZone()
        else { return nil }
        return instant(year, month, day, time)
    }

    /// ` 06-Nov-94 08:49:37 GMT`.
    private mutating func rfc850() -> Int64? {
        guard blank(), let day = number(2), take("-"), let month = month(), take("-"),
            let shortYear = number(2), blank(), let time = time(), blank(), takeZone()
        else { return nil }
        let latest = Int(CivilDate(secondsSince1970: now.secondsSince1970).year) + 50
        return instant(latest - (latest - shortYear) % 100, month, day, time)
    }

    /// ` Nov  6 08:49:37 1994`: days below 10 have a blank for the first digit.
    private mutating func asctime() -> Int64? {
        guard blank(), let month = month(), blank() else { return nil }
        let isPadded = leniency == .anyCase && take(" ")
        guard let day = isPadded ? number(1) : dayOfAsctime(), blank(), let time = time(), blank(),
            let year = number(4)
        else { return nil }
        return instant(year, month, day, time)
    }

    private mutating func dayOfAsctime() -> Int? {
        if leniency == .anyBlanks, index + 1 < end, !Octets.isDigit(text[index + 1]) {
            return number(1)
        }
        return number(2)
    }

    private func instant(_ year: Int, _ month: Int, _ day: Int, _ time: Int) -> Int64? {
        CivilDate(year: Int64(year), month: month, day: day).map {
            $0.daysSince1970 * 86_400 + Int64(time)
        }
    }

    // MARK: Parts

    private mutating func weekday() -> (number: Int, isShort: Bool)? {
        let start = index
        for (number, name) in DateNames.weekdays.enumerated() where take(name.utf8Start, 3) {
            let rest = name.utf8CodeUnitCount - 3
            return (number, isShort: !take(name.utf8Start + 3, rest))
        }
        index = start
        return nil
    }

    /// 1…12.
    private mutating func month() -> Int? {
        (1...12).first { take(DateNames.months.utf8Start + 3 * ($0 - 1), 3) }
    }

    /// Seconds since midnight; a leap second is the first one of the next minute.
    private mutating func time() -> Int? {
        guard let hour = number(2), take(":"), let minute = number(2), take(":"),
            let second = number(2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private mutating func takeZone() -> Bool {
        let name: StaticString = "GMT"
        return take(name.utf8Start, 3)
    }

    /// Exactly so many digits.
    private mutating func number(_ digits: Int) -> Int? {
        guard index + digits <= end else { return nil }
        var number = 0
        for byte in text[index..<index + digits] {
            guard Octets.isDigit(byte) else { return nil }
            number = number * 10 + Int(byte &- 0x30)
        }
        index += digits
        return number
    }

    // MARK: Bytes

    private mutating func take(_ name: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        guard index + count <= end else { return false }
        for place in 0..<count {
            let byte = text[index + place]
            let isSame =
                leniency == .anyCase
                ? Octets.lowercased(byte) == Octets.lowercased(name[place]) : byte == name[place]
            guard isSame else { return false }
        }
        index += count
        return true
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard index < end, text[index] == UInt8(ascii: scalar) else { return false }
        index += 1
        return true
    }

    /// One blank, or as many as there are.
    private mutating func blank() -> Bool {
        guard take(" ") else { return false }
        if leniency == .anyBlanks { while take(" ") {} }
        return true
    }

    /// Leaves out the white space at both ends.
    private mutating func trim() {
        func isTrimmed(_ byte: UInt8) -> Bool {
            byte == Octets.space || byte == Octets.tab && leniency == .anyCase
        }
        while index < end, isTrimmed(text[index]) { index += 1 }
        while index < end, isTrimmed(text[end - 1]) { end -= 1 }
    }
}
