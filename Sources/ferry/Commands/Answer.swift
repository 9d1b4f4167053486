internal import ArgumentParser
internal import Client
internal import JSON

/// `ferry answer`: answers a decision, for scripts and for people who watch.
struct Answer: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answer what a task asks.",
        discussion: """
            Dispositions: useCredential, performDefaultHandling, cancelAuthenticationChallenge, \
            rejectProtectionSpace for a challenge; follow, stop for a redirect; allow, cancel, \
            becomeDownload for a response; store, refuse for the cache; continue, useNewRequest, \
            cancel for a delayed request. useCredential without --user, --cert or --trust goes on \
            without a credential.

            Exit status: 0 the answer counts; 1 the gateway refused: somebody has answered already \
            (409), it is too late (410), or it is no answer to that question (422); 3 no gateway; \
            26 a file cannot be read; 64 wrong arguments.
            """)

    @Argument(help: "The decision's id: dec_….")
    var decision: String

    @Argument(help: "The answer.")
    var disposition: String

    @Option(
        help: ArgumentHelp(
            "A user name; the password is FERRY_PASSWORD, or is asked for on the terminal.",
            discussion: """
                NAME:PASSWORD is taken, too, but other users of this machine see it, for example \
                with ps.
                """, valueName: "name"))
    var user: String?

    @Flag(help: "The password of --user, or the passphrase of --cert, is a line of standard input.")
    var passwordStdin = false

    @Option(
        help: ArgumentHelp(
            "Your certificate: PEM, or PKCS #12 with its key.", valueName: "file"),
        completion: .file())
    var cert: String?

    @Option(
        help: ArgumentHelp(
            "The private key of --cert, as PEM without a passphrase (default: in the same file).",
            valueName: "file"), completion: .file())
    var key: String?

    @Option(
        help: ArgumentHelp(
            "The server's certificate that is trusted: sha-256=:BASE64:, or hexadecimal pairs.",
            valueName: "fingerprint"))
    var trust: String?

    @Option(help: "How long the credential is remembered: none, forSession, permanent.")
    var persistence = "none"

    @Option(help: ArgumentHelp("Another request, with follow or useNewRequest.", valueName: "json"))
    var request: String?

    @Option(help: "The same, where it is only a GET of another URL.")
    var url: String?

    @Flag(help: "Print errors as one JSON object on standard output, too.")
    var json = false

    @OptionGroup var gatewayOptions: GatewayOptions

    func validate() throws {
        let credentials = [user, cert, trust].compactMap { $0 }
        if credentials.count > 1 { throw ValidationError("give one of --user, --cert, --trust") }
        if !credentials.isEmpty, disposition != "useCredential" {
            throw ValidationError("--user, --cert and --trust go with useCredential")
        }
        if key != nil, cert == nil { throw ValidationError("--key goes with --cert") }
        if passwordStdin, user == nil, cert == nil {
            throw ValidationError("--password-stdin goes with --user or --cert")
        }
        if request != nil, url != nil { throw ValidationError("give one of --request, --url") }
    }

    func run() throws {
        try CommandLineIO.run(json: json) { () throws(ClientError) in
            // Reading a pipe ends by the signal itself, a question on the terminal in order.
            let interrupts = passwordStdin ? Interrupts.none : .ofProcess()
            let client = try gatewayOptions.client(interrupts: interrupts)
            var reply = DecisionReply(disposition)
            if disposition == "useCredential" { reply.credential = try credential(client) }
            reply.persistence = persistence
            reply.request = try newRequest()
            try client.answer(decision, with: reply)
        }
    }

    private func newRequest() throws(ClientError) -> JSONValue? {
        if let url {
            // The method and the body of the one that is proposed are not for another URL.
            return .object([
                JSONValue.Member(name: "url", value: .string(url)),
                JSONValue.Member(name: "method", value: .string("GET")),
            ])
        }
        guard let request else { return nil }
        do {
            return try JSONValue(parsing: Array(request.utf8))
        } catch {
            throw .badArgument("--request: \(error)")
        }
    }

    private func credential(
        _ client: GatewayClient
    ) throws(ClientError) -> DecisionReply.Credential {
        let environment = CommandLineIO.environment
        let source = SecretSource(fromStandardInput: passwordStdin, client: client)
        if let user {
            let login = try Login(
                parsing: user, variable: "FERRY_PASSWORD", environment: environment)
            if !passwordStdin, let password = login.password {
                return .password(user: login.user, password: password)
            }
            let password = try source.secret("Password of \(login.user): ", "FERRY_PASSWORD")
            return .password(user: login.user, password: password)
        }
        if let cert {
            let file = try IdentityFile(path: cert, key: key, environment: environment)
            guard file.wantsPassphrase || passwordStdin else { return file.credential() }
            return file.credential(
                passphrase: try source.secret(
                    "Passphrase of \(file.path): ", IdentityFile.passphraseVariable))
        }
        guard let trust else { return .none }
        return .serverTrust(try CertificateFingerprint(parsing: trust).wire)
    }
}
