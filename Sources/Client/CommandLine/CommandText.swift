/// A command as it can be typed again.
public enum CommandText {
    /// The words of a command line, quoted for a shell where they need it, without secrets.
    ///
    /// Passwords of users, also in URLs, are left out, and asked for again. In place of the values
    /// of headers and of parts of a body that look like secrets there is `…`.
    public static func text(_ arguments: [String]) -> String {
        var words: [String] = []
        var value: Value?
        for argument in arguments {
            // What follows an option is its value, whatever it looks like.
            if let kind = value {
                words.append(ShellWord.quoted(kind.cleaned(argument)))
                value = nil
            } else {
                let (word, next) = cleaned(argument)
                words.append(ShellWord.quoted(word))
                value = next
            }
        }
        return words.joined(separator: " ")
    }

    /// What the value of an option is.
    private enum Value {
        case user, header, body, url, text

        /// Nil for an option that has none.
        init?(of option: some StringProtocol) {
            switch option {
            case "-u", "--user", "--proxy-user": self = .user
            case "-H", "--header": self = .header
            case "--data": self = .body
            case "--mirror", "--proxy": self = .url
            default:
                guard !CommandText.flags.contains(String(option)) else { return nil }
                self = .text
            }
        }

        func cleaned(_ text: String) -> String {
            switch self {
            case .user: String(text.prefix { $0 != ":" })
            case .header: CommandText.withoutSecret(text, behind: ":", " …")
            case .body:
                text.split(separator: "&", omittingEmptySubsequences: false)
                    .map { CommandText.withoutSecret(inURLs(String($0)), behind: "=", "…") }
                    .joined(separator: "&")
            case .url: withoutPasswords(text)
            // A file, or a command, may have the signs of a URL without a scheme.
            case .text: inURLs(text)
            }
        }
    }

    /// The options of `get` and `put` without a value; the letters may stand in front of another
    /// one: `-fu alice`.
    private static let flags: Set = [
        "-f", "-q", "-v", "-O", "-c", "--force", "--quiet", "--verbose", "--remote-name",
        "--continue", "--no-continue", "--json", "--insecure", "--ask", "--keep-staged",
    ]

    /// A word without its secrets, and what the next one is, if it is the value of this one.
    private static func cleaned(_ word: String) -> (String, Value?) {
        if word.hasPrefix("--") {
            guard let sign = word.firstIndex(of: "=") else { return (word, Value(of: word)) }
            let value = word[word.index(after: sign)...]
            let kind = Value(of: word[..<sign]) ?? .text
            return (word[...sign] + kind.cleaned(String(value)), nil)
        }
        guard word.hasPrefix("-"), word != "-" else { return (withoutPasswords(word), nil) }
        let letters = word.dropFirst().drop { flags.contains("-\($0)") }
        guard let letter = letters.first else { return (word, nil) }
        let kind = Value(of: "-\(letter)") ?? .text
        let joined = letters.dropFirst()
        guard !joined.isEmpty else { return (word, kind) }
        return (word.dropLast(joined.count) + kind.cleaned(String(joined)), nil)
    }

    /// `Name: value` or `name=value` with `mark` in place of the value, if the name is that of a
    /// secret.
    private static func withoutSecret(
        _ text: String, behind separator: Character, _ mark: String
    ) -> String {
        guard let index = text.firstIndex(of: separator) else { return text }
        return isSecret(text[..<index]) ? text[...index] + mark : text
    }

    /// Whether a header, or a part of a form, of that name has a secret for its value.
    static func isSecret(_ name: some StringProtocol) -> Bool {
        let name = name.lowercased()
        return secretNames.contains { name.contains($0) }
    }

    private static let secretNames = [
        "auth", "cookie", "token", "secret", "password", "passwd", "passphrase", "pwd", "key",
    ]

    /// A word without the passwords of all URLs in it; one may do without a scheme.
    static func withoutPasswords(_ text: String) -> String {
        text.contains("://") ? inURLs(text) : withoutPassword(text[...])
    }

    /// A text without the passwords of the URLs in it.
    private static func inURLs(_ text: String) -> String {
        var clean = ""
        var rest = text[...]
        while let scheme = rest.firstRange(of: "://") {
            clean += rest[..<scheme.upperBound]
            rest = rest[scheme.upperBound...]
            let place = rest.prefix { !"/?#&,; \t".contains($0) }
            clean += withoutPassword(place)
            rest = rest.dropFirst(place.count)
        }
        return clean + rest
    }

    /// `user:password@host…` without the password.
    private static func withoutPassword(_ place: Substring) -> String {
        let authority = place.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@"),
            let colon = authority[..<at].firstIndex(of: ":")
        else { return String(place) }
        return String(place[..<colon] + place[at...])
    }
}
