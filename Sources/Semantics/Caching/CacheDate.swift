extension HTTPDate {
    /// Reads a date that freshness depends on: to the letter, but in any case (RFC 9111 §4.2).
    ///
    /// A date that an origin wrote with other blanks or with another zone than `GMT` is not one: freshness that rests on
    /// a guess is none.
    ///
    /// - Parameters:
    ///   - text: the field's value.
    ///   - now: tells the century of two-digit years.
    init?(cacheField text: String, now: HTTPDate) {
        // `init(parsing:now:)` takes no more either.
        guard text.utf8.count <= Self.byteLimit else { return nil }
        let text = text.trimmingFieldSpace
        guard !text.utf8.contains(where: { $0 == UInt8(ascii: "\t") }) else { return nil }
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        // asctime pads days below 10 with a second blank; no other format has two blanks together.
        let isPadded = words.count == 6 && words[2].isEmpty && words[3].utf8.count == 1
        guard isPadded || words.allSatisfy({ !$0.isEmpty }) else { return nil }
        guard words.count != 5 || words[2].utf8.count == 2 else { return nil }
        let cased = words.map { Self.canonicalCase($0) }.joined(separator: " ")
        self.init(parsing: cased, now: now)
    }

    /// `GMT` in capitals, and every other name with one at its beginning.
    private static func canonicalCase(_ word: Substring) -> String {
        if word.equalsIgnoringCase("GMT") { return "GMT" }
        var isFirst = true
        return String(
            decoding: word.utf8.map { byte -> UInt8 in
                defer { isFirst = !isLetter(byte) }
                return isLetter(byte) ? (isFirst ? byte & 0xdf : byte | 0x20) : byte
            }, as: UTF8.self)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

extension Timestamp {
    /// The second that the instant lies in.
    var httpDate: HTTPDate {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        return HTTPDate(secondsSince1970: rest < 0 ? seconds - 1 : seconds)
    }

    /// The time from an earlier instant to this one; 0 where that one is later.
    func milliseconds(since earlier: Timestamp) -> Int64 {
        guard earlier < self else { return 0 }
        let (elapsed, isOverflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        // A year is 3 * 10^10: what is kept with an absurd instant is old, and sums with it still fit.
        return isOverflow ? Self.longest : min(elapsed, Self.longest)
    }

    private static let longest: Int64 = .max / 8
}
