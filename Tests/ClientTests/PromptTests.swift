import Glibc
import TestSupport
import Testing

@testable import Client

/// Questions on a terminal.
struct PromptTests {
    private func ask<Answer: Sendable>(
        _ terminal: PseudoTerminal,
        _ question: @escaping @Sendable (Prompt) throws(ClientError) -> Answer
    ) -> Task<Answer, any Error> {
        Task {
            try await onThread { () throws(ClientError) in
                let screen = Screen(
                    descriptor: terminal.device, environment: TerminalTests.terminal)
                return try question(Prompt(input: terminal.device, screen: screen))
            }
        }
    }

    @Test func `lines that are typed ahead answer the next questions`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let answers = ask(terminal) { prompt throws(ClientError) in
            var answers: [String?] = []
            for _ in 0..<3 { answers.append(try prompt.line("? ") { true }) }
            return answers
        }
        try await terminal.waitForLines("the first question") { $0.last == "?" }
        terminal.type("one\ntwo\nthree\n")
        #expect(try await answers.value == ["one", "two", "three"])
    }

    @Test func `what is no UTF-8 is asked for again`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let answer = ask(terminal) { prompt throws(ClientError) in
            try prompt.line("? ", echoes: false) { true }
        }
        try await terminal.waitForLines("the question") { $0.last == "?" }
        terminal.type(bytes: [0xFF, 0x0A])
        try await terminal.waitForLines("the question again") { lines in
            lines == ["?", "That is not text in UTF-8.", "?"]
        }
        terminal.type("ü\n")
        #expect(try await answer.value == "ü")
        #expect(terminal.isEchoing)
    }

    @Test func `a question that nobody asks any more is taken back`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let answer = ask(terminal) { prompt throws(ClientError) in
            let answer = try prompt.line("? ", echoes: false) { false }
            prompt.say("next")
            return answer
        }
        #expect(try await answer.value == nil)
        try await terminal.waitForLines("a new line") { $0 == ["?", "next"] }
        #expect(terminal.isEchoing)
    }

    @Test func `a terminal that is gone is the end of input`() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[1])
        defer { close(ends[0]) }
        let (terminal, input) = (try PseudoTerminal(columns: 80), ends[0])
        let answer = try await onThread { () throws(ClientError) in
            let screen = Screen(descriptor: terminal.device, environment: [:])
            return try Prompt(input: input, screen: screen).line("? ") { true }
        }
        #expect(answer == nil)
    }

    @Test func `Ctrl-Z and Ctrl-backslash leave no silent terminal behind`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let answer = ask(terminal) { prompt throws(ClientError) in
            try prompt.line("? ", echoes: false) { true }
        }
        try await terminal.waitForLines("the question") { $0.last == "?" }
        var settings = termios()
        #expect(tcgetattr(terminal.device, &settings) == 0)
        let keys = [Int(VQUIT), Int(VSUSP), Int(VINTR)]
        #expect(withUnsafeBytes(of: settings.c_cc) { all in keys.map { all[$0] } } == [0, 0, 3])
        terminal.type("a\n")
        #expect(try await answer.value == "a")
        #expect(tcgetattr(terminal.device, &settings) == 0)
        #expect(withUnsafeBytes(of: settings.c_cc) { all in keys.map { all[$0] } } == [28, 26, 3])
    }

    @Test func `a third Ctrl-C ends the process, but not with a silent terminal`() async throws {
        await #expect(processExitsWith: .exitCode(7)) {
            let terminal = try PseudoTerminal(columns: 80)
            SilentTerminal.prepareForSignals()
            let silence = try #require(SilentTerminal(terminal.device))
            guard !terminal.isEchoing else { exit(1) }
            SilentTerminal.endFromSignal()
            guard terminal.isEchoing else { exit(2) }
            silence.end()
            // Nothing is left for a handler to touch.
            var settings = termios()
            guard tcgetattr(terminal.device, &settings) == 0 else { exit(3) }
            settings.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(terminal.device, TCSANOW, &settings)
            SilentTerminal.endFromSignal()
            exit(terminal.isEchoing ? 4 : 7)
        }
    }
}
