import Foundation
import Glibc
import TestSupport
import Testing

@testable import Client

struct TerminalTests {
    static let terminal = ["TERM": "xterm", "LANG": "C.UTF-8"]

    @Test func `a download shows a bar that grows, and one line in the end`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let folder = try TemporaryDirectory()
        let gateway = try FakeGateway()
        let (task, half) = (gateway.task, Gate())
        let size = 1 << 20
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.response(length: size)
            try exchange.stall(until: half)
            task.complete(length: size)
            try exchange.complete()
        }
        gateway.onContent { exchange in
            try exchange.head(200, ["Content-Length": "\(size)"])
            try exchange.patternBody(count: size / 2)
            try exchange.stall(until: half)
            try exchange.patternBody(from: size / 2, count: size / 2)
        }
        let run = Task { try await download(gateway, to: folder.file("big.iso"), on: terminal) }
        try await terminal.waitForLines("half of a bar") { lines in
            lines.count == 1 && lines[0].hasPrefix("big.iso   50%  ━") && lines[0].contains("─")
                && lines[0].contains("512 KiB/1.00 MiB") && lines[0].count <= 79
        }
        terminal.resize(columns: 30)
        try await terminal.waitForLines("a line for the new width") { lines in
            lines.count == 1 && lines[0].count <= 29 && lines[0].hasPrefix("big.iso   50%")
        }
        half.open()
        _ = try await run.value
        let path = folder.file("big.iso")
        try await terminal.waitForLines("the last line alone") { lines in
            lines.count == 1 && lines[0].hasPrefix("\(path): 1.00 MiB in 0:")
        }
        #expect(terminal.unknown.isEmpty)
        #expect(terminal.colorChanges > 0)
    }

    @Test func `a download that fails takes its bar away`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let folder = try TemporaryDirectory()
        let gateway = try FakeGateway()
        let shown = Gate()
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.event("task.isWaitingForConnectivity", "\"n\":1", id: "1.2")
            try exchange.stall(until: shown)
            try exchange.complete(error: FakeGateway.notFound)
        }
        let run = Task { try await download(gateway, to: folder.file("a"), on: terminal) }
        try await terminal.waitForLines("what it waits for") { lines in
            lines.first?.hasSuffix("waiting for connectivity") == true
        }
        shown.open()
        await #expect(throws: ClientError.self) { try await run.value }
        try await terminal.waitForLines("an empty screen") { $0.isEmpty }
    }

    private func download(
        _ gateway: FakeGateway, to path: String, on terminal: PseudoTerminal
    ) async throws -> DownloadReceipt {
        try await onThread { () throws(ClientError) in
            var order = DownloadOrder(url: "http://host/big.iso")
            order.output = path
            let screen = Screen(descriptor: terminal.device, environment: Self.terminal)
            let display = ProgressDisplay(on: screen)
            return try Download(order, client: try gateway.client(), display: display).run()
        }
    }

    @Test func `lines that stay go above those that are redrawn`() async throws {
        let terminal = try PseudoTerminal(columns: 40)
        let screen = Screen(descriptor: terminal.device, environment: Self.terminal)
        screen.draw(["one", "two", "three"])
        try await terminal.waitForLines("three lines") { $0 == ["one", "two", "three"] }
        screen.print("stays")
        screen.draw(["1", "2"])
        try await terminal.waitForLines("two lines below") { $0 == ["stays", "1", "2"] }
        screen.draw(["only"])
        try await terminal.waitForLines("one line below") { $0 == ["stays", "only"] }
        screen.clear()
        screen.print("end")
        try await terminal.waitForLines("no lines below") { $0 == ["stays", "end"] }
        #expect(terminal.unknown.isEmpty)
    }

    @Test func `the size is the window's, also after a change`() throws {
        let terminal = try PseudoTerminal(columns: 120, rows: 50)
        let screen = Screen(descriptor: terminal.device, environment: Self.terminal)
        #expect(screen.size == (120, 50))
        terminal.resize(columns: 33, rows: 7)
        #expect(screen.size == (33, 7))
        #expect(screen.lineWidth == 32)
        terminal.resize(columns: 0, rows: 0)
        #expect(screen.size == (80, 24))
    }

    @Test(arguments: [
        (["TERM": "xterm"], true, true, false),
        (["TERM": "xterm", "LANG": "C.UTF-8"], true, true, true),
        (["TERM": "xterm", "LANG": "de_DE.utf8", "LC_ALL": "C"], true, true, false),
        (["TERM": "xterm", "NO_COLOR": "1"], true, false, false),
        (["TERM": "xterm", "NO_COLOR": ""], true, true, false),
        (["TERM": "dumb"], false, false, false),
    ])
    func `a terminal's look follows the environment`(
        _ environment: [String: String], _ isLive: Bool, _ color: Bool, _ unicode: Bool
    ) throws {
        let terminal = try PseudoTerminal(columns: 80)
        let screen = Screen(descriptor: terminal.device, environment: environment)
        #expect(screen.isLive == isLive)
        #expect(screen.style == ProgressBar.Style(usesColor: color, usesUnicode: unicode))
    }

    @Test func `a log gets no bars and no escapes`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let screen = Screen(descriptor: ends[1], environment: Self.terminal)
        let display = ProgressDisplay(on: screen)
        for count in 0..<1000 { display.update(name: "a", received: Int64(count), total: 1000) }
        screen.draw(["never seen"])
        display.finish("a: done\u{1B}[2J")
        var room = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &room, room.count)
        #expect(String(decoding: room.prefix(count), as: UTF8.self) == "a: done\\u{1b}[2J\n")
    }

    @Test func `a bar is redrawn at most ten times a second`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let screen = Screen(descriptor: terminal.device, environment: ["TERM": "xterm"])
        let display = ProgressDisplay(on: screen)
        let start = ContinuousClock.now
        for count in 0..<5000 { display.update(name: "a", received: Int64(count), total: 5000) }
        let elapsed = start.duration(to: .now) / .seconds(1)
        screen.clear()
        screen.print("end")
        try await terminal.waitForLines("the end") { $0 == ["end"] }
        let drawings = terminal.raw.components(separatedBy: "/4.88 KiB").count - 1
        #expect(drawings >= 1)
        #expect(Double(drawings) <= elapsed * 10 + 1)
    }
}
