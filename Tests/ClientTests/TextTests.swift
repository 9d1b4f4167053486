import Glibc
import JSON
import TestSupport
import Testing

@testable import Client

struct DisplayTextTests {
    @Test(arguments: [
        ("plain.iso", "plain.iso"),
        ("a\u{1B}[2Jb", "a\\u{1b}[2Jb"),
        ("a\r\nb\t", "a\\u{d}\\u{a}b\\u{9}"),
        ("\u{7F}\u{9B}31m", "\\u{7f}\\u{9b}31m"),
        ("exe.\u{202E}fdp", "exe.\\u{202e}fdp"),
        ("a\u{2028}b\u{200B}", "a\\u{2028}b\\u{200b}"),
        ("żółw 🐢 漢字", "żółw 🐢 漢字"),
    ])
    func `nothing that a terminal obeys is left (X-8)`(_ text: String, _ expected: String) {
        #expect(DisplayText.line(text) == expected)
    }

    @Test func `JSON on a terminal stays the same JSON, with escapes (X-8)`() throws {
        let text = "{\"a\":\"ż\u{9B}31m\u{7F}\u{202E}\u{E0001}🐢\"}"
        let shown = DisplayText.escapedAsJSON(text)
        #expect(shown == #"{"a":"ż\u009b31m\u007f\u202e\udb40\udc01🐢"}"#)
        let original = try JSONValue(parsing: Array(text.utf8))
        #expect(try JSONValue(parsing: Array(shown.utf8)) == original)
    }

    @Test func `a result on a terminal has nothing that it obeys, and elsewhere all of it (X-8)`()
        async throws
    {
        let line = "{\"a\":\"\u{9B}31m\u{7F}\"}"
        let terminal = try PseudoTerminal(columns: 80)
        for environment in [[:], ["TERM": "dumb"]] {
            Screen(descriptor: terminal.device, environment: environment).printResult(line)
        }
        try await terminal.waitForLines("both results") { $0.count == 2 }
        #expect(terminal.raw.contains(#"{"a":"\u009b31m\u007f"}"#))
        #expect(!terminal.raw.unicodeScalars.contains { (0x7F...0x9F).contains($0.value) })
        let folder = try TemporaryDirectory()
        let descriptor = open(folder.file("out"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        Screen(descriptor: descriptor, environment: [:]).printResult(line)
        close(descriptor)
        #expect(try folder.read("out") == Array((line + "\n").utf8))
    }

    @Test(arguments: [
        ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abc", 1, "…"), ("abc", 0, ""),
        ("漢字漢字", 5, "漢字…"), ("漢字漢字", 4, "漢…"), ("e\u{301}e\u{301}e", 2, "e\u{301}…"),
    ])
    func `text is cut by columns`(_ text: String, _ width: Int, _ expected: String) {
        #expect(DisplayText.cut(text, to: width) == expected)
        #expect(DisplayText.columns(of: DisplayText.cut(text, to: width)) <= width)
    }

    @Test(arguments: [
        ("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("한글", 4), ("🐢", 2), ("", 0),
    ])
    func `wide characters take two columns and combining ones none`(_ text: String, _ columns: Int)
    {
        #expect(DisplayText.columns(of: text) == columns)
    }
}

struct FiguresTests {
    @Test(
        arguments: [
            (0, "0 B"), (-1, "0 B"), (999, "999 B"), (1023, "1023 B"), (1024, "1.00 KiB"),
            (10_000, "9.77 KiB"), (10_234, "9.99 KiB"), (10_236, "10.0 KiB"), (102_300, "99.9 KiB"),
            (102_399, "100 KiB"), (1_023_487, "999 KiB"), (1_023_489, "0.98 MiB"),
            (734_003_200, "700 MiB"), (1 << 30, "1.00 GiB"),
            (Int64.max, "8.00 EiB"),
        ] as [(Int64, String)])
    func `sizes have three digits`(_ bytes: Int64, _ expected: String) {
        #expect(Figures.size(bytes) == expected)
    }

    @Test func `no size is wider than eight columns`() {
        for exponent in 0..<63 {
            for offset in [-1, 0, 1] as [Int64] {
                #expect(Figures.size((1 << exponent) + offset).count <= 8)
            }
        }
    }

    @Test(arguments: [
        (0, "0:00"), (7, "0:07"), (59, "0:59"), (60, "1:00"), (3599, "59:59"), (3723, "1:02:03"),
        (86400, "1d 00h"), (100 * 86400, "--:--"),
    ])
    func `times are as on a clock`(_ seconds: Int, _ expected: String) {
        #expect(Figures.time(.seconds(seconds)) == expected)
    }
}

struct TaskOptionsTests {
    @Test(
        arguments: [
            ("1", 1), ("500000", 500_000), ("500k", 512_000), ("2M", 2 << 20), ("1g", 1 << 30),
            ("8589934591g", 8_589_934_591 << 30), ("1.5m", 3 << 19), ("5 k", 5 << 10),
            ("5.00 MiB/s", 5 << 20), ("5MiB", 5 << 20), ("5 MB/s", 5_000_000), ("2kB/s", 2000),
            ("700 B/s", 700), ("1G/s", 1 << 30), ("0.5g", 1 << 29),
        ] as [(String, Int64)])
    func `a rate is bytes a second, or as rates are shown`(
        _ text: String, _ expected: Int64
    ) throws {
        #expect(try TaskSettings.rate(text) == expected)
    }

    @Test(arguments: [
        "", "0", "0k", "-1", "+5", "k", "5ib", "5x", "1,5m", "1.m", ".5m", "1.2.3k", "1e3", "inf",
        "0.4", "8589934592g", "٣", "99999999999999999999", "5 5k", "/s",
    ])
    func `what is no rate is refused`(_ text: String) {
        #expect(throws: ClientError.self) { try TaskSettings.rate(text) }
    }
}

struct LocalFileNameTests {
    @Test(
        arguments: [
            ("a.iso", "a.iso"), (nil, "download"), ("", "download"), ("..", "download"),
            (".", "download"), ("/", "download"), ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"), (".bashrc", "bashrc"), ("  .. x .iso  ", "x .iso"),
            ("a\u{0}b\nc\u{1B}.iso", "abc.iso"), ("exe.\u{202E}fdp", "exe.fdp"),
            ("żółw.tar.gz", "żółw.tar.gz"), ("-rf", "rf"), (".-- -a-b", "a-b"), ("-", "download"),
            ("../\u{301}evil", "\u{301}evil"), ("a\u{600}/b", "b"),
        ] as [(String?, String)])
    func `a suggested name cannot leave the folder, hide, or move the cursor (X-8)`(
        _ suggestion: String?, _ expected: String
    ) {
        #expect(LocalFileName.safe(suggestion) == expected)
    }

    @Test(arguments: ["a", "ż", "🐢"])
    func `a long name keeps its extension`(_ character: String) {
        let name = LocalFileName.safe(String(repeating: character, count: 400) + ".iso")
        #expect(name.utf8.count <= 240)
        #expect(name.utf8.count > 230)
        #expect(name.hasSuffix(".iso"))
    }
}

struct RateMeterTests {
    @Test func `a steady transfer has its rate, whatever the grain of the notes`() throws {
        for step in [0.01, 0.1, 1, 3] {
            var meter = RateMeter()
            var time = 0.0
            while time < 30 {
                meter.note(Int64(time * 1000), at: .seconds(time))
                time += step
            }
            let rate = try #require(meter.bytesPerSecond)
            #expect(abs(rate - 1000) < 5, "step \(step)")
        }
    }

    @Test func `a new rate is seen within the window`() throws {
        var meter = RateMeter(window: .seconds(5))
        for second in 0...60 { meter.note(Int64(second) * 1000, at: .seconds(second)) }
        for second in 61...66 {
            meter.note(60_000 + Int64(second - 60) * 10, at: .seconds(second))
        }
        let rate = try #require(meter.bytesPerSecond)
        #expect(rate < 20)
    }

    @Test func `nothing is told before there are two points`() {
        var meter = RateMeter()
        #expect(meter.bytesPerSecond == nil)
        meter.note(5, at: .seconds(1))
        #expect(meter.bytesPerSecond == nil)
        #expect(meter.time(for: 100) == nil)
    }

    @Test func `a stalled transfer has no time left to tell`() {
        var meter = RateMeter()
        for second in 0...20 { meter.note(100, at: .seconds(second)) }
        #expect(meter.time(for: 100) == nil)
    }

    @Test func `a start from zero begins a new measurement`() throws {
        var meter = RateMeter()
        meter.note(1_000_000, at: .seconds(1))
        meter.note(0, at: .seconds(2))
        meter.note(500, at: .seconds(3))
        #expect(meter.bytesPerSecond == 500)
        #expect(meter.time(for: 1000) == .seconds(2))
    }
}
