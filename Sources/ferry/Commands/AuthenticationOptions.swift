internal import ArgumentParser
internal import Client

/// What `get` and `put` may be told in advance about those who ask: servers, proxies, redirects.
struct AuthenticationOptions: ParsableArguments {
    @Option(
        name: [.customShort("u", allowingJoined: true), .long],
        help: ArgumentHelp(
            "Who you are to the server of the URL, when it asks (Basic, Digest, NTLM).",
            discussion: """
                Other users of this machine see a password given here, for example with ps. Without \
                one, FERRY_PASSWORD is taken, or it is asked for on the terminal.
                """, valueName: "name[:password]"))
    var user: String?

    @Option(help: ArgumentHelp("Go through this HTTP proxy.", valueName: "host:port"))
    var proxy: String?

    @Option(
        help: ArgumentHelp(
            "Who you are to the proxy; the password as for --user, or FERRY_PROXY_PASSWORD.",
            valueName: "name[:password]"))
    var proxyUser: String?

    @Option(
        help: ArgumentHelp(
            "Your certificate for the server of the URL: PEM, or PKCS #12 with its key.",
            discussion: """
                The passphrase of a PKCS #12 file is FERRY_CERT_PASSPHRASE, or is asked for on the \
                terminal.
                """, valueName: "file"), completion: .file())
    var cert: String?

    @Option(
        help: ArgumentHelp(
            "The private key of --cert, as PEM without a passphrase (default: in the same file).",
            valueName: "file"), completion: .file())
    var key: String?

    @Flag(help: "Accept certificates of servers that cannot be trusted; says so each time.")
    var insecure = false

    @Flag(help: "Ask before a redirect is followed.")
    var ask = false

    func validate() throws {
        if key != nil, cert == nil { throw ValidationError("--key goes with --cert") }
        if proxyUser != nil, proxy == nil {
            throw ValidationError("--proxy-user goes with --proxy")
        }
    }

    /// Whether anything was said that only a session of the command's own can heed.
    var isAnything: Bool {
        [user, proxy, proxyUser, cert].contains { $0 != nil } || insecure || ask
    }

    /// What the options say; `canAsk` where there is a terminal for what they leave open.
    ///
    /// - Throws: `badArgument`, `unreadable`.
    func settings(
        canAsk: Bool, login: Login? = nil
    ) throws(ClientError) -> DelegateSettings {
        let environment = CommandLineIO.environment
        var settings = DelegateSettings()
        if let user {
            settings.user = try Login(
                parsing: user, variable: "FERRY_PASSWORD", environment: environment)
        } else if let login {
            settings.user = Login(
                user: login.user, password: login.password ?? environment["FERRY_PASSWORD"])
        }
        if let proxy { settings.proxy = try WebPlace(parsing: proxy) }
        if let proxyUser {
            settings.proxyUser = try Login(
                parsing: proxyUser, variable: "FERRY_PROXY_PASSWORD", environment: environment)
        }
        if let cert {
            settings.identity = try IdentityFile(path: cert, key: key, environment: environment)
        }
        settings.trustsEverybody = insecure
        settings.asksAboutRedirects = ask
        if !canAsk { try settings.requireComplete() }
        return settings
    }

    /// What is said on the help page of both commands about questions.
    static let discussion = """
        On a terminal, what the server asks for is asked for there: user name and password, three \
        times at most, and whether a certificate that cannot be trusted is accepted for this \
        transfer. Elsewhere nothing is asked: the options answer, or the transfer fails.
        """
}
