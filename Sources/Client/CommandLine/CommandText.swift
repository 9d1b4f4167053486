/// A command as it can be typed again.
public enum CommandText {
    /// The words of a command line, quoted for a shell where they need it, without passwords: those
    /// of `-u`, `--user` and `--proxy-user` and those in URLs are left out, and asked for again.
    public static func text(_ arguments: [String]) -> String {
        var words: [String] = []
        var isUser = false
        for argument in arguments {
            words.append(ShellWord.quoted(isUser ? user(argument) : withoutPassword(argument)))
            isUser = userOptions.contains(argument)
        }
        return words.joined(separator: " ")
    }

    private static let userOptions: Set = ["-u", "--user", "--proxy-user"]

    private static func user(_ text: String) -> String { String(text.prefix { $0 != ":" }) }

    private static func withoutPassword(_ argument: String) -> String {
        for option in userOptions where argument.hasPrefix(option + "=") {
            return option + "=" + user(String(argument.dropFirst(option.count + 1)))
        }
        guard argument.contains("@"), !argument.hasPrefix("-") else { return argument }
        let given = GivenURL(argument)
        guard let login = given.login, login.password != nil,
            let end = given.url.firstRange(of: "://")?.upperBound
        else { return argument }
        return given.url[..<end] + login.user + "@" + given.url[end...]
    }
}
