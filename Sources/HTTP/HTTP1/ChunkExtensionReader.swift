internal import Syntax

/// Checks the extensions behind a chunk's size, byte by byte; what they say is ignored (RFC 9112
/// §7.1.1):
///
/// ```
/// chunk-ext     = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )
/// chunk-ext-val = token / quoted-string
/// ```
struct ChunkExtensionReader {
    private enum Place {
        /// Where only a semicolon can follow, or the line can end: at the beginning, and behind a
        /// value.
        case end
        /// Behind white space that a semicolon must follow.
        case beforeSemicolon
        case beforeName, name
        /// Behind a name and white space.
        case afterName
        case beforeValue, value
        case quoted, escaped
    }

    private var place = Place.end

    /// Whether the line may end here.
    var mayEnd: Bool {
        switch place {
        case .end, .name, .value: true
        case .beforeSemicolon, .beforeName, .afterName, .beforeValue, .quoted, .escaped: false
        }
    }

    /// Takes the next byte; false where the grammar has no such byte.
    mutating func take(_ byte: UInt8) -> Bool {
        guard let next = next(byte) else { return false }
        place = next
        return true
    }

    private func next(_ byte: UInt8) -> Place? {
        let isSpace = Octets.isWhitespace(byte)
        switch place {
        case .end, .beforeSemicolon:
            if byte == UInt8(ascii: ";") { return .beforeName }
            return isSpace ? .beforeSemicolon : nil
        case .beforeName:
            if isSpace { return .beforeName }
            return Octets.isToken(byte) ? .name : nil
        case .name where Octets.isToken(byte): return .name
        case .name, .afterName:
            if byte == UInt8(ascii: "=") { return .beforeValue }
            if byte == UInt8(ascii: ";") { return .beforeName }
            return isSpace ? .afterName : nil
        case .beforeValue:
            if isSpace { return .beforeValue }
            if byte == UInt8(ascii: "\"") { return .quoted }
            return Octets.isToken(byte) ? .value : nil
        case .value:
            if Octets.isToken(byte) { return .value }
            if byte == UInt8(ascii: ";") { return .beforeName }
            return isSpace ? .beforeSemicolon : nil
        case .quoted:
            // RFC 9110 §5.6.4: qdtext, and behind a backslash the same and the two that end it.
            if byte == UInt8(ascii: "\"") { return .end }
            if byte == UInt8(ascii: "\\") { return .escaped }
            return Octets.isFieldValue(byte) ? .quoted : nil
        case .escaped: return Octets.isFieldValue(byte) ? .quoted : nil
        }
    }
}
