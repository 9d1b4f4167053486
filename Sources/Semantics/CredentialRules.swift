/// What a client may give as user name and password.
///
/// libcurl passes line breaks of a Digest user name straight to the wire, so nothing that fails
/// here may reach it. Both may be empty: some services take a token as the password of nobody.
public enum CredentialRules {
    /// The most bytes of a user name, and of a password, as UTF-8.
    public static let byteLimit = 1_024

    /// Checks a user name and a password for a challenge of this method: no control characters,
    /// also not the tab, and no colon in a user name for Basic, which ends there (RFC 7617 §2).
    ///
    /// - Throws: the first violation, that of the user name before that of the password.
    public static func check(
        user: String, password: String, for method: AuthenticationMethod
    ) throws(CredentialViolation) {
        try check(user, .user)
        if method == .basic, user.utf8.contains(UInt8(ascii: ":")) {
            throw CredentialViolation(.user, .colon)
        }
        try check(password, .password)
    }

    private static func check(
        _ text: String, _ subject: CredentialViolation.Subject
    ) throws(CredentialViolation) {
        guard text.utf8.count <= byteLimit else {
            throw CredentialViolation(subject, .tooLong(byteLimit: byteLimit))
        }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw CredentialViolation(subject, .controlCharacter) }
    }
}

/// What is wrong with a client's user name or password.
public struct CredentialViolation: Error, Hashable, Sendable {
    /// Which of the two; the raw value is the member's name on the wire.
    public enum Subject: String, Sendable {
        case user, password
    }

    /// What is wrong.
    public enum Reason: Hashable, Sendable {
        /// CR, LF, NUL, tab or another control character, of ASCII or of Latin-1.
        case controlCharacter
        /// Basic cannot carry a user name with one.
        case colon
        /// More bytes than `byteLimit`.
        case tooLong(byteLimit: Int)
    }

    /// Which of the two it is about.
    public let subject: Subject
    /// What is wrong with it.
    public let reason: Reason

    init(_ subject: Subject, _ reason: Reason) {
        self.subject = subject
        self.reason = reason
    }

    /// One sentence for the client, without a word of what it sent.
    public var sentence: String {
        let what = subject == .user ? "The user name" : "The password"
        return switch reason {
        case .controlCharacter: "\(what) has a control character."
        case .colon: "\(what) has a colon, which Basic cannot carry (RFC 7617, section 2)."
        case .tooLong(let limit): "\(what) is longer than \(limit) bytes."
        }
    }
}
