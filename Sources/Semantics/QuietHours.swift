/// The hours of the day in which work that may be put off is done (S-27): by what a clock on the
/// wall shows, so that a change to or from summer time moves them along, and makes one longer or
/// shorter.
public struct QuietHours: Equatable, Sendable {
    /// Minutes since midnight: from `begin` until before `end`, over midnight where that is less.
    private struct Stretch: Equatable, Sendable {
        let begin: Int
        let end: Int

        func contains(_ minute: Int) -> Bool {
            begin < end ? begin <= minute && minute < end : begin <= minute || minute < end
        }
    }

    private var stretches: [Stretch] = []

    private static let minutesOfDay = 1440
    private static let secondsOfDay = 86_400

    /// All day.
    public static let always = QuietHours()

    private init() {}

    /// Hours from their texts, such as `22:00-06:00`: each begins and ends at a minute of the day,
    /// the end itself is outside. No text means all day.
    ///
    /// - Throws: what is wrong with the first text that is.
    public init(parsing texts: [String]) throws(QuietHoursError) {
        for text in texts {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, let begin = QuietHours.minute(parts[0]),
                let end = QuietHours.minute(parts[1]), begin < QuietHours.minutesOfDay
            else { throw .malformed }
            guard begin != end else { throw .empty }
            stretches.append(Stretch(begin: begin, end: end))
        }
    }

    /// Whether a second of the day is inside.
    public func contains(_ second: Int) -> Bool { containsMinute(second / 60) }

    /// How long after a second of the day the hours begin, or end; nil where they never do. A
    /// change of the clock on the wall is not foreseen.
    public func untilChange(from second: Int) -> Duration? {
        let borders = stretches.flatMap { [$0.begin, $0.end % QuietHours.minutesOfDay] }
        let waits = borders.filter { border in
            containsMinute(border)
                != containsMinute(border == 0 ? Self.minutesOfDay - 1 : border - 1)
        }.map { border in
            let wait = (border * 60 - second) % QuietHours.secondsOfDay
            return wait > 0 ? wait : wait + QuietHours.secondsOfDay
        }
        return waits.min().map { .seconds($0) }
    }

    private func containsMinute(_ minute: Int) -> Bool {
        stretches.isEmpty || stretches.contains { $0.contains(minute) }
    }

    /// `HH:MM`, 00:00 to 24:00.
    private static func minute(_ text: Substring) -> Int? {
        let bytes = Array(text.utf8)
        let digits = [0, 1, 3, 4].compactMap { index -> Int? in
            guard bytes.count == 5, (0x30...0x39).contains(bytes[index]) else { return nil }
            return Int(bytes[index] - 0x30)
        }
        guard digits.count == 4, bytes[2] == 0x3A else { return nil }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        guard minute < 60, hour * 60 + minute <= minutesOfDay else { return nil }
        return hour * 60 + minute
    }
}

/// What is wrong with the text of quiet hours.
public enum QuietHoursError: Error, CustomStringConvertible, Sendable {
    /// It is not two times of a day.
    case malformed
    /// It ends when it begins.
    case empty

    /// What is expected.
    public var description: String {
        switch self {
        case .malformed: "must be two times of the day, such as 22:00-06:00"
        case .empty: "ends when it begins; for the whole day, say 00:00-24:00"
        }
    }
}
