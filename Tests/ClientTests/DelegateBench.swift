import Glibc
import JSON
import TestSupport
import Testing

@testable import Client

/// `ferry get` and `ferry put` in front of a pseudo-terminal.
struct DelegateBench {
    let bench: TransferBench
    let terminal: PseudoTerminal
    var gateway: FakeGateway { bench.gateway }
    var folder: TemporaryDirectory { bench.folder }

    init() throws {
        bench = try TransferBench()
        // Wide enough that nothing wraps.
        terminal = try PseudoTerminal(columns: 160)
    }

    /// Another command in the same folder, on a terminal of its own.
    init(_ other: DelegateBench) throws {
        bench = try TransferBench(other.bench)
        terminal = try PseudoTerminal(columns: 160)
    }

    /// Begins `ferry get URL -o a.iso` at the terminal.
    func get(
        _ url: String = "http://host/a.iso",
        _ change: @escaping @Sendable (inout DelegateSettings) -> Void = { _ in },
        persistence: @escaping @Sendable (inout Persistence) -> Void = { _ in }
    ) -> Task<DownloadReceipt, any Error> {
        let (bench, terminal) = (bench, terminal)
        return Task {
            try await onThread { () throws(ClientError) in
                var order = DownloadOrder(url: url)
                order.output = bench.folder.file("a.iso")
                change(&order.delegate)
                let (display, prompt) = DelegateBench.console(terminal)
                return try Download(
                    order, client: bench.client(persistence), display: display, prompt: prompt
                ).run()
            }
        }
    }

    /// Begins `ferry put FILE http://host/up` at the terminal.
    func put(_ file: String) -> Task<UploadReceipt, any Error> {
        let (bench, terminal) = (bench, terminal)
        return Task {
            try await onThread { () throws(ClientError) in
                let order = UploadOrder(file: file, url: "http://host/up")
                let (display, prompt) = DelegateBench.console(terminal)
                return try Upload(
                    order, client: bench.client { _ in }, display: display, prompt: prompt
                ).run()
            }
        }
    }

    private static func console(_ terminal: PseudoTerminal) -> (ProgressDisplay, Prompt) {
        let screen = Screen(descriptor: terminal.device, environment: TerminalTests.terminal)
        return (ProgressDisplay(on: screen), Prompt(input: terminal.device, screen: screen))
    }

    /// Waits for a question at the end of the screen, and types an answer to it.
    func answer(_ question: String, _ text: String) async throws {
        try await waitFor(question)
        terminal.type(text + "\n")
    }

    /// Waits until the last line is that.
    func waitFor(_ line: String) async throws {
        try await terminal.waitForLines(line) { $0.last == line }
    }

    /// Nothing is left at the gateway, nor of the terminal's silence.
    func expectOrder(
        _ mode: String = "cancelTasks", sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            gateway.endings == ["{\"mode\":\"\(mode)\"}"], sourceLocation: sourceLocation)
        #expect(terminal.isEchoing, sourceLocation: sourceLocation)
        #expect(terminal.unknown.isEmpty, sourceLocation: sourceLocation)
    }
}

/// The password that an answer has, as `user:password`.
func login(_ answer: JSONValue?) -> String? {
    guard let credential = answer?["credential"], let user = credential["user"]?.string,
        let password = credential["password"]?.string
    else { return nil }
    return "\(user):\(password)"
}

/// The word of an answer.
func disposition(_ answer: JSONValue?) -> String? { answer?["disposition"]?.string }
