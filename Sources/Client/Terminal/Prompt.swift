internal import Glibc
internal import Synchronization

/// Asks a person in front of a terminal for a line, while everything else moves on. Threads that
/// ask at the same time do so one after the other.
public final class Prompt: Sendable {
    private let input: Int32
    private let screen: Screen
    private let keyboard = Mutex(Keyboard())

    fileprivate struct Keyboard {
        /// Whether a thread waits for an answer.
        var isTaken = false
        /// What was typed behind the last line.
        var typed: [UInt8] = []
    }

    /// Nobody types more in answer to anything.
    private static let byteLimit = 64 << 10

    /// Questions go to `screen`, answers come from the terminal `input`; it must stay open.
    ///
    /// The screen must be the one that progress is shown on, so that neither overwrites the other.
    public init(input: Int32, screen: Screen) {
        self.input = input
        self.screen = screen
    }

    /// Whether somebody can be asked: standard input and standard error are terminals.
    public static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Tells something in a line that stays.
    func say(_ sentence: String) {
        screen.print(DisplayText.line(sentence))
    }

    /// Asks for a line; what is typed is not shown unless it `echoes`.
    ///
    /// `isAsked` is called ten times a second: it lets other things move, and tells whether the
    /// answer is still wanted.
    /// - Returns: nil for no answer: end of input, or nobody wants it any more.
    /// - Throws: what `isAsked` throws; the terminal is as it was before then, too.
    func line(
        _ question: String, echoes: Bool = true, isAsked: () throws(ClientError) -> Bool
    ) throws(ClientError) -> String? {
        while true {
            guard let bytes = try bytes(question, echoes: echoes, isAsked) else { return nil }
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            say("That is not text in UTF-8.")
        }
    }

    /// Asks a question that is answered by yes or no; a line without either is `preset`.
    ///
    /// What was typed before the question does not count.
    /// - Returns: nil for no answer, as `line` does.
    /// - Throws: what `isAsked` throws.
    func confirms(
        _ question: String, preset: Bool, isAsked: () throws(ClientError) -> Bool
    ) throws(ClientError) -> Bool? {
        tcflush(input, TCIFLUSH)
        keyboard.withLock { $0.typed = [] }
        while true {
            let choice = preset ? "[Y/n]" : "[y/N]"
            guard let answer = try line("\(question) \(choice) ", isAsked: isAsked) else {
                return nil
            }
            switch answer.lowercased().filter({ !$0.isWhitespace }) {
            case "": return preset
            case "y", "yes": return true
            case "n", "no": return false
            default: say("Please type y or n.")
            }
        }
    }

    private func bytes(
        _ question: String, echoes: Bool, _ isAsked: () throws(ClientError) -> Bool
    ) throws(ClientError) -> [UInt8]? {
        guard try takeKeyboard(isAsked) else { return nil }
        defer { keyboard.withLock { $0.isTaken = false } }
        let silence = echoes ? nil : SilentTerminal(input)
        screen.ask(DisplayText.line(question))
        // The terminal shows the end of a line that it shows.
        var isLineEnded = false
        defer {
            silence?.end()
            screen.endQuestion(isLineEnded: isLineEnded)
        }
        while true {
            if let line = keyboard.withLock({ $0.nextLine() }) {
                isLineEnded = echoes
                return line
            }
            guard try isAsked(), read() else { return nil }
        }
    }

    /// Waits for its turn to ask; false when the answer is not wanted any more.
    private func takeKeyboard(
        _ isAsked: () throws(ClientError) -> Bool
    ) throws(ClientError) -> Bool {
        while true {
            let isMine = keyboard.withLock { keyboard in
                defer { keyboard.isTaken = true }
                return !keyboard.isTaken
            }
            if isMine { return true }
            guard try isAsked() else { return false }
            usleep(50_000)
        }
    }

    /// Takes what is typed within 0.1 s; false at the end of input.
    private func read() -> Bool {
        var entry = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 100) > 0 else { return true }
        var room = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(input, &room, room.count)
        guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) }
        return keyboard.withLock { keyboard in
            keyboard.typed += room[..<count]
            return keyboard.typed.count <= Prompt.byteLimit
        }
    }
}

extension Prompt.Keyboard {
    /// Takes a whole line, without its end.
    fileprivate mutating func nextLine() -> [UInt8]? {
        guard let end = typed.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = Array(typed[..<end])
        typed.removeSubrange(...end)
        return line
    }
}
