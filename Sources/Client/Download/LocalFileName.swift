/// The name that a download gets in a folder of the user's, from a name that a server suggested.
enum LocalFileName {
    /// A name that `suggestion` gives, or `download` where nothing usable is left.
    ///
    /// Only what follows the last slash or backslash counts (RFC 6266 §4.3); control, format and
    /// bidirectional characters go, so do dots at the beginning, which would make a hidden file or
    /// another folder, hyphens there, which programs take for options, and spaces around. At most
    /// 240 bytes of UTF-8, cut before the extension: most file systems take 255, and the file is
    /// called `NAME.part` while it grows.
    static func safe(_ suggestion: String?) -> String {
        // By scalars: with a combining mark behind it a slash is part of another character.
        let parts = (suggestion ?? "").unicodeScalars.split { $0 == "/" || $0 == "\\" }
        var name = String.UnicodeScalarView()
        for scalar in parts.last ?? Substring.UnicodeScalarView() {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
                continue
            case _ where name.isEmpty && (isIdle(scalar) || scalar.properties.isWhitespace):
                continue
            default: name.append(scalar)
            }
        }
        while name.last?.properties.isWhitespace == true { name.removeLast() }
        return name.isEmpty ? "download" : shortened(String(name))
    }

    private static func isIdle(_ scalar: Unicode.Scalar) -> Bool { scalar == "." || scalar == "-" }

    private static let byteLimit = 240

    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > byteLimit else { return name }
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 16 {
            ending = String(name[dot...])
        }
        var stem = name.dropLast(ending.count)
        while stem.utf8.count + ending.utf8.count > byteLimit { stem.removeLast() }
        return stem + ending
    }
}
