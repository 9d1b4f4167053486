import Semantics
import Testing

/// How kept time goes on from a mark.
@Suite struct KeptTimeTests {
    private static let day: Int64 = 86_400_000
    private let mark = ClockMark(
        kept: KeptTime(milliseconds: 5000), wall: Timestamp(milliseconds: 7000),
        machine: MachineTime(boot: "a", elapsed: .milliseconds(100)))

    @Test(arguments: [
        // The same boot: the machine's time counts, whatever the wall clock shows.
        ("a", 100, 7000, 0), ("a", 350, 7250, 250), ("a", 350, 7000 + day, 250),
        ("a", 350, 7000 - day, 250), ("a", 350, 7000 + 365 * day, 250),
        // Another one: there is only the wall clock, and back from the mark it never goes.
        ("b", 350, 7250, 250), ("b", 50, 7000 + day, day), ("b", 350, 7000 - day, 0),
        // A boot of that name whose time has gone back is another one.
        ("a", 99, 7250, 250), ("a", 99, 6000, 0),
    ])
    func `the machine's time counts while it is up, else the wall clock, and never back (R-14)`(
        boot: String, elapsed: Int64, wall: Int64, passed: Int64
    ) {
        let machine = MachineTime(boot: boot, elapsed: .milliseconds(elapsed))
        let next = mark.moved(to: Timestamp(milliseconds: wall), machine)
        #expect(next.kept.since(mark.kept) == .milliseconds(passed))
        #expect(next.wall.milliseconds == wall && next.machine == machine)
        #expect(next.lead == .milliseconds(wall - 5000 - passed))
    }
}
