/// Pointers into a JSON text, as RFC 6901 writes them.
public enum JSONPointer {
    private static let byteLimit = 1024

    /// The pointer that goes down through `tokens`: member names, and indexes as decimal text.
    ///
    /// `~` becomes `~0` and `/` becomes `~1` (RFC 6901 §3). No tokens give the root, an empty text.
    /// At most 1,024 bytes: beyond that, the pointer ends at the nearest parent that fits.
    public static func text(_ tokens: [String]) -> String {
        var text = ""
        for token in tokens {
            guard text.utf8.count + token.utf8.count < byteLimit else { break }
            let longer = text + "/" + escaped(token)
            guard longer.utf8.count <= byteLimit else { break }
            text = longer
        }
        return text
    }

    private static func escaped(_ token: String) -> String {
        var result = ""
        for scalar in token.unicodeScalars {
            switch scalar {
            case "~": result += "~0"
            case "/": result += "~1"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
