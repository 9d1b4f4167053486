import Testing

@testable import Client

struct ProgressBarTests {
    static let half = ProgressBar.State(
        name: "big.iso", received: 350 << 20, total: 700 << 20, rate: 60_922_265,
        timeLeft: .seconds(6))
    static let unknown = ProgressBar.State(name: "live", received: 5 << 20, rate: 1_048_576)
    static let waiting = ProgressBar.State(
        name: "big.iso", total: 1000, note: "waiting for its turn")

    struct Case: Sendable {
        let state: ProgressBar.State
        let width: Int
        let line: String
    }

    static let cases: [Case] = [
        Case(
            state: half, width: 100,
            line:
                "big.iso   50%  [==================>                   ]    350 MiB/700 MiB  58.1 MiB/s   0:06"
        ),
        Case(
            state: half, width: 79,
            line: "big.iso   50%  [===========>            ]    350 MiB/700 MiB  58.1 MiB/s   0:06"),
        Case(
            state: half, width: 64,
            line: "big.iso   50%  [===>     ]    350 MiB/700 MiB  58.1 MiB/s   0:06"),
        Case(state: half, width: 55, line: "big.iso   50%    350 MiB/700 MiB  58.1 MiB/s   0:06"),
        Case(state: half, width: 45, line: "big.iso   50%    350 MiB/700 MiB  58.1 MiB/s"),
        Case(state: half, width: 36, line: "big.iso   50%    350 MiB/700 MiB"),
        Case(state: half, width: 20, line: "big.iso   50%"),
        Case(state: half, width: 8, line: "b…   50%"),
        Case(state: half, width: 4, line: " 50%"),
        Case(state: half, width: 3, line: ""),
        Case(state: unknown, width: 60, line: "live  |  5.00 MiB  1.00 MiB/s"),
        Case(state: unknown, width: 5, line: "l…  |"),
        Case(
            state: waiting, width: 60,
            line: "big.iso    0%         0 B/1000 B  waiting for its turn"),
    ]

    @Test(arguments: cases)
    func `a line is laid out by its width`(_ expected: Case) {
        let line = ProgressBar.render(expected.state, width: expected.width)
        #expect(line == expected.line)
    }

    @Test func `no line is wider than asked for`() {
        let names = ["big.iso", "漢字漢字漢字漢字漢字漢字.iso", String(repeating: "x", count: 300), ""]
        for name in names {
            for (received, total) in [(0, 0), (0, -1), (1 << 40, 1 << 50), (5, 3)]
                as [(Int64, Int64)]
            {
                for note in [nil, "waiting for connectivity"] {
                    for unicode in [false, true] {
                        let state = ProgressBar.State(
                            name: name, received: received, total: total, rate: 1e12,
                            timeLeft: .seconds(1_000_000), note: note, turn: 7)
                        for width in 0...200 {
                            let style = ProgressBar.Style(usesUnicode: unicode)
                            let line = ProgressBar.render(state, width: width, style: style)
                            #expect(DisplayText.columns(of: line) <= width)
                        }
                    }
                }
            }
        }
    }

    @Test(
        arguments: [
            (0, 1000, 0), (999, 1000, 99), (1000, 1000, 100), (0, 0, 100), (2000, 1000, 100),
            (-5, 1000, 0), (Int64.max - 1, Int64.max, 99), (5, -1, nil),
        ] as [(Int64, Int64, Int?)])
    func `100 percent means all of it`(_ received: Int64, _ total: Int64, _ percent: Int?) {
        // The nearest Double of Int64.max - 1 is Int64.max's: that one case may show 100.
        let state = ProgressBar.State(name: "", received: received, total: total)
        if received == .max - 1 {
            #expect((99...100).contains(state.percent ?? -1))
        } else {
            #expect(state.percent == percent)
        }
    }

    @Test func `colours are used only where the style has them`() {
        let plain = ProgressBar.render(Self.half, width: 80)
        #expect(!plain.contains("\u{1B}"))
        let style = ProgressBar.Style(usesColor: true, usesUnicode: true)
        let colored = ProgressBar.render(Self.half, width: 79, style: style)
        #expect(colored.contains("\u{1B}[32m━━━━━━━━━━━━━\u{1B}[0m─────────────"))
    }

    @Test func `control characters of a name do not reach the line (X-8)`() {
        let state = ProgressBar.State(name: "a\u{1B}[2J\rb", received: 1, total: 2)
        let line = ProgressBar.render(state, width: 80)
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 })
        #expect(ProgressBar.sentence(state).unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    @Test func `the mark of an unknown size moves`() {
        var state = Self.unknown
        var lines: Set<String> = []
        for turn in 0..<8 {
            state.turn = turn
            lines.insert(ProgressBar.render(state, width: 60))
        }
        #expect(lines.count == 4)
    }

    @Test func `a log gets sentences`() {
        #expect(
            ProgressBar.sentence(Self.half)
                == "big.iso: 50%, 350 MiB of 700 MiB, 58.1 MiB/s, 0:06 left")
        #expect(ProgressBar.sentence(Self.unknown) == "live: 5.00 MiB, 1.00 MiB/s")
        #expect(
            ProgressBar.sentence(Self.waiting) == "big.iso: waiting for its turn, 0%, 0 B of 1000 B"
        )
    }
}
