internal import Glibc

/// A key that somebody has pressed.
enum Key: Equatable {
    case character(Character)
    case up, down, enter, backspace, escape
}

/// Reads single keys from a terminal, which shows nothing of them, until it is let go.
final class KeyReader {
    private let input: Int32
    private let silence: SilentTerminal

    /// Nil where the descriptor is no terminal.
    init?(_ input: Int32) {
        guard let silence = SilentTerminal(input, readsKeys: true) else { return nil }
        self.input = input
        self.silence = silence
    }

    deinit {
        silence.end()
    }

    /// The keys that have been pressed since the last call; does not wait.
    func keys() -> [Key] {
        var entry = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 0) > 0 else { return [] }
        var room = [UInt8](repeating: 0, count: 256)
        let count = read(input, &room, room.count)
        guard count > 0 else { return [] }
        return KeyReader.keys(in: Array(room[..<count]))
    }

    /// What a terminal sends (ECMA-48; arrows as xterm and the Linux console send them).
    static func keys(in bytes: [UInt8]) -> [Key] {
        var keys: [Key] = []
        let text = Array(String(decoding: bytes, as: UTF8.self))
        var index = 0
        while index < text.count {
            let character = text[index]
            index += 1
            switch character {
            case "\u{1B}":
                guard index + 1 < text.count, text[index] == "[" || text[index] == "O" else {
                    keys.append(.escape)
                    continue
                }
                index += 1
                // Parameters up to the letter that ends the sequence.
                while index < text.count, !text[index].isLetter, text[index] != "~" { index += 1 }
                if index < text.count {
                    if text[index] == "A" { keys.append(.up) }
                    if text[index] == "B" { keys.append(.down) }
                    index += 1
                }
            case "\r", "\n", "\r\n": keys.append(.enter)
            case "\u{7F}", "\u{8}": keys.append(.backspace)
            default: keys.append(.character(character))
            }
        }
        return keys
    }
}
