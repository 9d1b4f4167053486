internal import Syntax

/// Text from elsewhere, made fit for a terminal.
public enum DisplayText {
    /// `text` on one line and with nothing in it that a terminal obeys or that turns the reading
    /// order.
    ///
    /// Control characters (C0, DEL, C1), line separators, bidirectional controls and unassigned or
    /// private characters become `\u{…}`; so a file name or URL can neither move the cursor nor
    /// hide its ending.
    public static func line(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            if isSafe(scalar) {
                line.unicodeScalars.append(scalar)
            } else {
                line += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return line
    }

    /// The same with the escapes of JSON, `\u009b`, which in its strings mean what they replace.
    static func escapedAsJSON(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            if isSafe(scalar) {
                line.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                line += "\\u" + Hex.text(of: [UInt8(unit >> 8), UInt8(unit & 0xFF)])
            }
        }
        return line
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
            .unassigned:
            false
        default: true
        }
    }

    /// How many columns of a terminal `text` takes: two for wide characters, none for combining
    /// ones.
    public static func columns(of text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        guard scalar.value >= 0x300 else { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: return wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }

    /// The blocks that Unicode's EastAsianWidth.txt has as W or F, taken whole.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
        0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
        0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]

    /// `text` cut to at most `width` columns, with `…` in place of what is missing at its end.
    public static func cut(_ text: String, to width: Int) -> String {
        guard columns(of: text) > width else { return text }
        guard width > 0 else { return "" }
        var room = width - 1
        var kept = ""
        for scalar in text.unicodeScalars {
            room -= columns(of: scalar)
            guard room >= 0 else { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept + "…"
    }

    /// `text` shortened in its middle to at most `width` columns: of names and URLs the ends tell
    /// most.
    public static func shortened(_ text: String, to width: Int) -> String {
        guard columns(of: text) > width, width > 4 else { return cut(text, to: width) }
        let scalars = text.unicodeScalars
        func kept(_ scalars: some Sequence<Unicode.Scalar>, _ room: Int) -> [Unicode.Scalar] {
            var room = room
            var kept: [Unicode.Scalar] = []
            for scalar in scalars {
                room -= columns(of: scalar)
                guard room >= 0 else { break }
                kept.append(scalar)
            }
            return kept
        }
        let head = kept(scalars, (width - 1) / 2)
        let tail = kept(scalars.reversed(), width - 1 - (width - 1) / 2)
        var short = String.UnicodeScalarView(head)
        short.append("…")
        short.append(contentsOf: tail.reversed())
        return String(short)
    }

    /// `text` with spaces up to `width` columns: behind it, or before it.
    static func padded(_ text: String, to width: Int, before: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - columns(of: text)))
        return before ? spaces + text : text + spaces
    }
}
