/// A user name, and the password if it is known already, as `--user` gives them.
public struct Login: Equatable, Sendable {
    /// Who.
    public let user: String
    /// Nil where it has to be asked for.
    public let password: String?

    /// A login of these parts.
    public init(user: String, password: String?) {
        self.user = user
        self.password = password
    }

    /// Reads `NAME` or `NAME:PASSWORD`, split at the first colon (RFC 7617 §2 has none in names).
    ///
    /// Without a password that of the environment's `variable` is taken, if there is one.
    /// - Throws: `badArgument` without a name.
    public init(
        parsing text: String, variable: String, environment: [String: String]
    ) throws(ClientError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = parts.first, !user.isEmpty else {
            throw .badArgument("a user is written NAME or NAME:PASSWORD")
        }
        self.init(
            user: String(user),
            password: parts.count > 1 ? String(parts[1]) : environment[variable])
    }
}
