import TestSupport
import Testing

@testable import Client

struct BoardTests {
    private static func row(_ id: String, _ url: String, _ received: Int64 = 1) -> BoardLayout.Row {
        BoardLayout.Row(
            id: id, url: url,
            bar: ProgressBar.State(name: "", received: received, total: 100, rate: 1024))
    }

    private static let rows = (1...9).map {
        row("tsk_00000000000\($0)", "http://host\($0)/dir/file\($0).iso?x=y")
    }

    @Test(arguments: [12, 20, 39, 40, 60, 80, 140])
    func `no line of the board is wider than the window, and names stay (F6)`(width: Int) {
        let layout = BoardLayout(width: width, height: 24, style: ProgressBar.Style())
        var footer = BoardLayout.Footer()
        footer.hasKeys = true
        let lines = layout.lines(Self.rows, selected: "tsk_000000000002", footer: footer)
        #expect(lines.count == 11)
        #expect(lines.last?.hasSuffix("q quit") == true)
        for (index, line) in lines.enumerated() {
            #expect(DisplayText.columns(of: line) <= width)
            if index < 9, width >= 40 { #expect(line.contains("file\(index + 1).iso")) }
            if index < 9, width >= 80 { #expect(line.contains("00000000000\(index + 1)")) }
            if index < 9, width >= 140 { #expect(line.contains("host\(index + 1)")) }
            #expect(line.hasPrefix("> ") == (index == 1))
        }
    }

    @Test func `the selected row is on the screen, however many there are`() {
        let layout = BoardLayout(width: 80, height: 6, style: ProgressBar.Style())
        for row in Self.rows {
            let lines = layout.lines(Self.rows, selected: row.id, footer: .init(hasKeys: true))
            #expect(lines.count == 5)
            #expect(lines.contains { $0.hasPrefix("> \(row.id.dropFirst(4))") })
        }
        #expect(
            BoardLayout(width: 80, height: 1, style: .init()).lines(
                [], selected: nil, footer: .init()
            ).count == 1)
    }

    @Test(arguments: [
        ("http://h/a/b.iso?x#y", "b.iso", "h"), ("http://h:80", "h:80", "h:80"),
        ("http://h/", "h", "h"),
        ("", "", ""),
    ])
    func `a row is named by the last part of its URL`(url: String, name: String, host: String) {
        let row = Self.row("tsk_1", url)
        #expect(row.name == name && row.host == host)
    }

    @Test(arguments: [
        ("http://host/a-very-long-name.iso", 20, "http://ho…g-name.iso"), ("short", 20, "short"),
        ("漢字漢字漢字漢字", 9, "漢字…漢字"), ("abcdef", 4, "abc…"), ("abc", 0, ""),
    ])
    func `a long text is shortened in its middle`(text: String, width: Int, short: String) {
        #expect(DisplayText.shortened(text, to: width) == short)
        #expect(DisplayText.columns(of: DisplayText.shortened(text, to: width)) <= width)
    }

    @Test func `keys select, and act on what is selected`() {
        var keys = BoardKeys()
        let shown = ["a", "b", "c"]
        #expect(keys.take(.character("p"), shown) == .pause("a"))
        #expect(keys.take(.down, shown) == nil)
        #expect(keys.take(.character("r"), shown) == .resume("b"))
        for _ in 0..<5 { _ = keys.take(.character("j"), shown) }
        #expect(keys.selected == "c")
        // One that has gone is not acted on.
        #expect(keys.take(.character("p"), ["a", "b"]) == .pause("a"))
        #expect(keys.take(.up, []) == nil && keys.take(.character("p"), []) == nil)
        #expect(keys.take(.character("q"), shown) == .quit)
    }

    @Test func `to cancel takes a second key`() {
        var keys = BoardKeys()
        #expect(keys.take(.character("c"), ["a"]) == nil)
        #expect(keys.question == "cancel a? y or n")
        #expect(keys.take(.character("n"), ["a"]) == nil)
        #expect(keys.question == nil)
        _ = keys.take(.character("c"), ["a"])
        #expect(keys.take(.character("y"), ["a"]) == .cancel("a"))
    }

    @Test func `a filter is typed, taken and left`() {
        var keys = BoardKeys()
        for key in KeyReader.keys(in: Array("/qx\u{7F}\r".utf8)) {
            #expect(keys.take(key, ["a"]) == nil)
        }
        #expect(keys.filter == "q")
        #expect(Self.row("tsk_1", "http://h/Q.iso").matches("q.I"))
        #expect(!Self.row("tsk_1", "http://h/Q.iso").matches("qq"))
        _ = keys.take(.escape, ["a"])
        #expect(keys.filter == "")
    }

    @Test func `what a terminal sends are keys`() {
        let bytes = Array("a\u{1B}[A\u{1B}OB\u{1B}[1;5C\u{1B}[3~ä\n\u{8}".utf8)
        #expect(
            KeyReader.keys(in: bytes) == [
                .character("a"), .up, .down, .character("ä"), .enter, .backspace,
            ])
        #expect(KeyReader.keys(in: [0x1B]) == [.escape])
    }

    @Test func `what was there before counts for the percentage, and not for the rate (F7)`()
        async throws
    {
        let terminal = try PseudoTerminal(columns: 100)
        let screen = Screen(descriptor: terminal.device, environment: ["TERM": "xterm"])
        let display = ProgressDisplay(on: screen)
        display.update(name: "a", received: 0, total: 1 << 30)
        try await terminal.waitForLines("half of it") { lines in
            display.update(name: "a", received: 512 << 20, total: 1 << 30, base: 512 << 20)
            return lines.first?.contains(" 50%") == true && lines.first?.contains("0 B/s") == true
        }
        #expect(!terminal.raw.contains("MiB/s"))
    }

    @Test func `several transfers have a bar each, and one for all`() async throws {
        let terminal = try PseudoTerminal(columns: 100)
        let screen = Screen(descriptor: terminal.device, environment: ["TERM": "xterm"])
        let board = ProgressBoard(on: screen, count: 3)
        let (first, second) = (ProgressDisplay(on: board), ProgressDisplay(on: board))
        first.update(name: "first", received: 50, total: 100)
        // One has not begun: how much there is in all is not known.
        try await terminal.waitForLines("two bars and a line") { lines in
            second.update(name: "second", received: 0, total: 100)
            return lines.count == 3 && lines[0].hasPrefix("first ") && lines[1].hasPrefix("second ")
                && lines[2].hasPrefix("0 of 3 done") && !lines[2].contains("%")
        }
        first.finish("first: done")
        ProgressDisplay(on: board).finish()
        try await terminal.waitForLines("one bar and a percentage") { lines in
            second.update(name: "second", received: 50, total: 100)
            return lines.count == 3 && lines[0] == "first: done" && lines[1].hasPrefix("second ")
                && lines[2].hasPrefix("2 of 3 done") && lines[2].contains("66%")
        }
        #expect(terminal.unknown.isEmpty)
    }

    @Test func `what is printed while somebody is asked comes behind the answer`() async throws {
        let terminal = try PseudoTerminal(columns: 40)
        let screen = Screen(descriptor: terminal.device, environment: ["TERM": "xterm"])
        screen.draw(["bar"])
        screen.ask("Name: ")
        screen.print("other")
        screen.draw(["bar"])
        try await terminal.waitForLines("the question alone") {
            $0 == ["Name: "] || $0 == ["Name:"]
        }
        screen.endQuestion(isLineEnded: false)
        try await terminal.waitForLines("what was held") { $0.last == "other" && $0.count == 2 }
    }
}
