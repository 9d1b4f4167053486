import Semantics
import Testing

/// The hours for work that may be put off (S-27).
@Suite struct QuietHoursTests {
    @Test(
        arguments: [
            (["22:00-06:00"], ["22:00", "23:59", "00:00", "05:59"], ["06:00", "12:00", "21:59"]),
            (["09:30-17:15"], ["09:30", "17:14"], ["09:29", "17:15", "00:00"]),
            (["22:00-24:00", "00:00-06:00"], ["22:00", "00:00", "05:59"], ["06:00", "21:59"]),
            (["12:00-13:00", "12:30-14:00"], ["12:00", "13:30"], ["11:59", "14:00"]),
            (["00:00-24:00"], ["00:00", "23:59"], []),
            ([], ["00:00", "23:59"], []),
        ] as [([String], [String], [String])])
    func `hours contain their beginning and not their end, over midnight too`(
        texts: [String], inside: [String], outside: [String]
    ) throws {
        let hours = try QuietHours(parsing: texts)
        for time in inside { #expect(hours.contains(second(time)), "\(time)") }
        for time in outside { #expect(!hours.contains(second(time)), "\(time)") }
        for time in outside where time != "00:00" { #expect(!hours.contains(second(time) + 59)) }
    }

    @Test(arguments: [
        "", "22:00", "22:00-", "-06:00", "22:00-06:00-07:00", "24:00-06:00", "22:60-06:00",
        "22:00-24:01", "2:00-06:00", "22:00 - 06:00", "22.00-06.00", "22:00-0600", "+1:00-06:00",
        "22:00-06:0０",
    ])
    func `a text that is not two times of the day is refused`(text: String) {
        #expect(throws: QuietHoursError.malformed) {
            try QuietHours(parsing: ["01:00-02:00", text])
        }
    }

    @Test func `hours that end when they begin are refused`() {
        #expect(throws: QuietHoursError.empty) { try QuietHours(parsing: ["06:00-06:00"]) }
    }

    @Test(
        arguments: [
            (["22:00-06:00"], "21:59", 60), (["22:00-06:00"], "22:00", 8 * 3600),
            (["22:00-06:00"], "06:00", 16 * 3600), (["22:00-06:00"], "00:00", 6 * 3600),
            (["22:00-24:00", "00:00-06:00"], "23:00", 7 * 3600),
            (["12:00-13:00", "12:30-14:00"], "12:00", 2 * 3600),
            (["12:00-13:00", "15:00-16:00"], "13:00", 2 * 3600),
            (["00:00-24:00"], "12:00", nil), (["00:00-12:00", "12:00-24:00"], "11:00", nil),
            ([], "12:00", nil),
        ] as [([String], String, Int?)])
    func `the next change is where the hours really begin or end`(
        texts: [String], time: String, seconds: Int?
    ) throws {
        let hours = try QuietHours(parsing: texts)
        #expect(hours.untilChange(from: second(time)) == seconds.map { .seconds($0) })
    }

    @Test func `the next change is as many seconds off as it takes to be there`() throws {
        let hours = try QuietHours(parsing: ["22:00-06:00", "05:00-07:30"])
        for now in stride(from: 0, to: 86_400, by: 613) {
            let wait = Int(try #require(hours.untilChange(from: now)).components.seconds)
            #expect(hours.contains((now + wait) % 86_400) != hours.contains(now))
            #expect(hours.contains((now + wait - 1) % 86_400) == hours.contains(now))
        }
    }

    /// `HH:MM` as a second of the day.
    private func second(_ time: String) -> Int {
        let parts = time.split(separator: ":").compactMap { Int($0) }
        return parts[0] * 3600 + parts[1] * 60
    }
}

/// Which tasks are put off, and for how long (S-27).
@Suite struct DiscretionTests {
    @Test(arguments: [
        (SessionType.default, false, true, false), (.default, true, true, true),
        (.default, false, false, false), (.ephemeral, true, false, true),
        (.background, false, true, false), (.background, false, false, true),
        (.background, true, true, true),
    ])
    func `tasks are put off where the session says so, or is a background one that nobody hears`(
        type: SessionType, isDiscretionary: Bool, isHeard: Bool, isPutOff: Bool
    ) {
        var configuration = SessionConfiguration()
        configuration.isDiscretionary = isDiscretionary
        let session = SessionRecord(
            id: SessionID(rawValue: 1), tenant: .operatorTenant, type: type, description: nil,
            configuration: configuration, delegate: nil, createdAt: Timestamp(milliseconds: 0))
        #expect(session.putsOffTasks(whileHeard: isHeard) == isPutOff)
    }

    @Test(arguments: [(100, 25), (76, 1), (75, 0), (0, -75)])
    func `a task is put off for a quarter of its whole time`(left: Int, more: Int) {
        #expect(Discretion.timeLeft(.seconds(left), of: .seconds(100)) == .seconds(more))
    }
}
