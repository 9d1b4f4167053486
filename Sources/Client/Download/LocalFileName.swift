/// The name that a download gets in a folder of the user's, from a name that a server suggested.
enum LocalFileName {
    /// A name that `suggestion` gives, or `download` where nothing usable is left.
    ///
    /// Only what follows the last slash or backslash counts (RFC 6266 §4.3); control, format and
    /// bidirectional characters go, so do dots at the beginning, which would make a hidden file or
    /// another folder, and spaces around. At most 240 bytes of UTF-8, cut before the extension:
    /// most file systems take 255, and the file is called `NAME.part` while it grows.
    static func safe(_ suggestion: String?) -> String {
        let parts = (suggestion ?? "").split { $0 == "/" || $0 == "\\" }
        var name = String.UnicodeScalarView()
        for scalar in (parts.last ?? "").unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
                continue
            case _ where name.isEmpty && (scalar == "." || scalar.properties.isWhitespace): continue
            default: name.append(scalar)
            }
        }
        while name.last?.properties.isWhitespace == true { name.removeLast() }
        return name.isEmpty ? "download" : shortened(String(name))
    }

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
