import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// A real pseudo-terminal, and what somebody in front of it would see.
///
/// A thread reads what is written to it and does what a VT100 does with the few sequences that a
/// screen uses: carriage return, line feed, cursor up, erase below; colours are counted and left
/// out.
final class PseudoTerminal: Sendable {
    /// The program's side.
    let device: Int32
    private let control: Int32
    private let picture: Mutex<Picture>

    struct Picture: Sendable {
        var lines: [[Character]] = [[]]
        var row = 0
        var column = 0
        var colorChanges = 0
        /// Every byte as it came.
        var raw = ""
        /// Sequences that are not understood: there must be none.
        var unknown: [String] = []
        var escape: String?
    }

    init(columns: Int, rows: Int = 24) throws {
        // <linux/tty.h>'s ioctls by number: their macros cannot be imported.
        let setLock: UInt = 0x4004_5431
        let getNumber: UInt = 0x8004_5430
        control = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(control >= 0, "no pseudo-terminals here")
        var unlocked: Int32 = 0
        var number: Int32 = 0
        _ = ioctl(control, setLock, &unlocked)
        _ = ioctl(control, getNumber, &number)
        device = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(device >= 0, "no /dev/pts here")
        picture = Mutex(Picture())
        resize(columns: columns, rows: rows)
        let control = control
        let draw = { @Sendable [weak self] (text: String) in
            guard let self else { return }
            self.picture.withLock { picture in
                for character in text.unicodeScalars { picture.take(Character(character)) }
            }
        }
        Thread.detachNewThread {
            var room = [UInt8](repeating: 0, count: 4096)
            var pending: [UInt8] = []
            while true {
                let count = read(control, &room, room.count)
                guard count > 0 else { break }
                pending += room[..<count]
                // A character of UTF-8 may be cut: only whole lines of bytes below 0x80 or valid
                // text go on.
                guard let text = String(validating: pending, as: UTF8.self) else { continue }
                pending = []
                draw(text)
            }
            close(control)
        }
    }

    deinit {
        // The reader sees the end once no one holds the device.
        close(device)
    }

    /// Gives the window another size.
    func resize(columns: Int, rows: Int = 24) {
        var size = winsize()
        size.ws_col = UInt16(columns)
        size.ws_row = UInt16(rows)
        _ = ioctl(control, UInt(TIOCSWINSZ), &size)
    }

    /// Types, as a person does.
    func type(_ text: String) {
        type(bytes: Array(text.utf8))
    }

    /// Types bytes that are perhaps no text.
    func type(bytes: [UInt8]) {
        _ = write(control, bytes, bytes.count)
    }

    /// Whether what is typed is shown.
    var isEchoing: Bool {
        var settings = termios()
        return tcgetattr(device, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// The lines on the screen, without spaces at their ends and empty lines below.
    var lines: [String] {
        var lines = picture.withLock { $0.lines }.map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    /// Everything that was written, escapes and all.
    var raw: String { picture.withLock(\.raw) }

    /// Sequences that this terminal does not know.
    var unknown: [String] { picture.withLock(\.unknown) }

    /// How often a colour was set or reset.
    var colorChanges: Int { picture.withLock(\.colorChanges) }

    /// Waits until the lines satisfy `condition`.
    func waitForLines(_ what: String, _ condition: ([String]) -> Bool) async throws {
        do {
            try await eventually(within: .seconds(30), what) { condition(lines) }
        } catch {
            Issue.record("on the terminal there is \(lines)")
            throw error
        }
    }
}

extension PseudoTerminal.Picture {
    mutating func take(_ character: Character) {
        raw.append(character)
        if var escape {
            escape.append(character)
            self.escape = escape
            guard character.isLetter else { return }
            self.escape = nil
            obey(escape)
            return
        }
        switch character {
        case "\u{1B}": escape = ""
        case "\r": column = 0
        case "\n":
            row += 1
            if row == lines.count { lines.append([]) }
        default: put(character)
        }
    }

    private mutating func obey(_ sequence: String) {
        let number = Int(sequence.dropFirst().dropLast()) ?? 1
        switch sequence.last {
        case "A": row = max(0, row - number)
        case "J":
            lines.removeSubrange((row + 1)...)
            lines[row].removeSubrange(min(column, lines[row].count)...)
        case "m": colorChanges += 1
        default: unknown.append(sequence)
        }
    }

    private mutating func put(_ character: Character) {
        while lines[row].count <= column { lines[row].append(" ") }
        lines[row][column] = character
        column += 1
    }
}
