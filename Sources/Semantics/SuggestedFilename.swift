internal import Syntax

/// The name that a response suggests for its content (NSURLResponse.suggestedFilename).
///
/// <https://developer.apple.com/documentation/foundation/urlresponse/suggestedfilename>
public enum SuggestedFilename {
    /// The most bytes of a name, in UTF-8: what file systems take.
    public static let byteLimit = 255

    /// Chooses a name: from `Content-Disposition`, else the URL's last path component, else its
    /// host, else `unknown`; with an extension by the MIME type where the name has none.
    ///
    /// The result is safe as the name of a file in a folder: see `sanitized(_:)`.
    ///
    /// - Parameters:
    ///   - contentDisposition: the field's value (RFC 6266); one of more than 8 KiB counts as none.
    ///   - url: what was fetched last.
    ///   - mimeType: the response's, in lower case.
    /// - Returns: a name of 1…255 bytes.
    public static func choose(
        contentDisposition: String?, url: WebURL, mimeType: String?
    ) -> String {
        let ending = mimeType.flatMap(MediaType.fileExtension)
        if let name = contentDisposition.flatMap(dispositionName) ?? pathName(url.path) {
            return hasExtension(name) ? name : appending(ending, to: name)
        }
        // What follows a host's last dot is no extension.
        return appending(ending, to: sanitized(url.host) ?? "unknown")
    }

    /// A name that is safe in any folder; nil where nothing of the text can be kept.
    ///
    /// Only what follows the last `/` or `\`; no control characters, no marks that turn the
    /// direction of writing; no blanks or dots at the ends (so neither `..` nor a hidden file); at
    /// most 255 bytes, cut between characters and before the extension. Nothing is kept of more
    /// than 8 KiB.
    public static func sanitized(_ text: String) -> String? {
        // By bytes: with a combining mark behind it a separator is part of another character, and
        // separates all the same.
        let parts = text.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        guard let last = parts.last.map({ Substring($0) }), last.utf8.count <= FieldSyntax.byteLimit
        else { return nil }
        if isPlain(last) { return String(last) }
        var scalars = last.unicodeScalars.filter(isKept)[...]
        while let first = scalars.first, isTrimmed(first) { scalars.removeFirst() }
        while let last = scalars.last, isTrimmed(last) { scalars.removeLast() }
        return scalars.isEmpty ? nil : cut(String(String.UnicodeScalarView(scalars)))
    }

    /// RFC 6266 §4.3: `filename*` outranks `filename`.
    private static func dispositionName(_ text: String) -> String? {
        guard text.utf8.count <= FieldSyntax.byteLimit else { return nil }
        let field = FieldParameters(parsing: text)
        return field["filename*"].flatMap(extendedValue).flatMap(sanitized)
            ?? field["filename"].flatMap(sanitized)
    }

    /// RFC 8187 §3.2: `charset'language'percent-encoded`.
    private static func extendedValue(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentCoding.bytes(of: parts[2]) else { return nil }
        return switch parts[0].asciiLowercased {
        case "utf-8": String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": String(String.UnicodeScalarView(bytes.map(Unicode.Scalar.init)))
        default: nil
        }
    }

    private static func pathName(_ path: String) -> String? {
        var bytes = path.utf8[...]
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes.index(after: $0) }
        let last = Substring(bytes[(start ?? bytes.startIndex)...])
        guard !last.isEmpty, last.utf8.count <= FieldSyntax.byteLimit else { return nil }
        if isPlain(last) { return String(last) }
        let decoded = PercentCoding.bytes(of: last).flatMap {
            String(validating: $0, as: UTF8.self)
        }
        return sanitized(decoded ?? String(last))
    }

    /// Whether a name is safe at a glance, as most are: ASCII letters, digits, `-`, `_`, and dots
    /// inside.
    private static func isPlain(_ name: Substring) -> Bool {
        let dot = UInt8(ascii: ".")
        guard name.utf8.count <= byteLimit, name.utf8.first != dot, name.utf8.last != dot else {
            return false
        }
        return name.utf8.allSatisfy { Octets.isUnreserved($0) && $0 != UInt8(ascii: "~") }
    }

    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        default: !scalar.properties.isBidiControl && scalar != "\u{feff}"
        }
    }

    private static func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace
    }

    private static func hasExtension(_ name: String) -> Bool { !parts(name).ending.isEmpty }

    private static func appending(_ ending: String?, to name: String) -> String {
        ending.map { cut(name + "." + $0) } ?? name
    }

    /// The name and its extension with the dot: one to sixteen ASCII letters and digits behind the
    /// last dot.
    private static func parts(_ name: String) -> (stem: Substring, ending: Substring) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
            return (name[...], "")
        }
        let letters = name.utf8[dot...].dropFirst()
        guard (1...16).contains(letters.count),
            letters.allSatisfy({ Octets.isLetter($0) || Octets.isDigit($0) })
        else { return (name[...], "") }
        return (name[..<dot], name[dot...])
    }

    /// The name with a number in front of its extension: `a (1).flac`.
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, ending) = parts(name)
        return cut(stem, " (\(number))" + ending)
    }

    private static func cut(_ name: String) -> String {
        guard name.utf8.count > byteLimit else { return name }
        let (stem, ending) = parts(name)
        return cut(stem, String(ending))
    }

    /// A stem, as much of it as there is room for in front of an ending.
    private static func cut(_ stem: Substring, _ ending: String) -> String {
        let room = byteLimit - ending.utf8.count
        let kept = fitting(stem.lazy.map(String.init), room)
        // A single character may be longer than the limit, by its combining marks.
        return
            (kept.isEmpty
            ? fitting(stem.unicodeScalars.lazy.map(String.init), room) : kept) + ending
    }

    private static func fitting(_ pieces: some Sequence<String>, _ byteLimit: Int) -> String {
        var result = ""
        for piece in pieces {
            guard result.utf8.count + piece.utf8.count <= byteLimit else { break }
            result += piece
        }
        return result
    }
}
