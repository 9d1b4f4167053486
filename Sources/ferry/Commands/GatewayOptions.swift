internal import ArgumentParser
internal import Client

/// The options of every command that talks to a running gateway.
struct GatewayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The gateway: http://HOST:PORT, https://HOST:PORT or unix:/PATH.",
            discussion: """
                Without it FERRY_GATEWAY is taken, and without that the gateway that you run on \
                this machine. The token is read from --token-file, or is FERRY_TOKEN, or is found \
                with the gateway.
                """))
    var gateway: String?

    @Option(help: "A file with the token.", completion: .file())
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Authorities in PEM to trust for an https gateway, in place of the system's.",
            discussion: "Without it FERRY_GATEWAY_CA is taken.", valueName: "file"),
        completion: .file())
    var gatewayCA: String?

    @Option(
        help: ArgumentHelp(
            "Your certificate in PEM, for a gateway that asks for one; or FERRY_GATEWAY_CERTIFICATE.",
            valueName: "file"), completion: .file())
    var gatewayCertificate: String?

    @Option(
        help: ArgumentHelp(
            "The private key of --gateway-certificate, unless both are in one file; or FERRY_GATEWAY_KEY.",
            valueName: "file"), completion: .file())
    var gatewayKey: String?

    /// What commands leave with that only ask the gateway.
    static let exitStatus = """
        Exit status: 0 done; 1 the gateway refused; 3 no gateway; 26 the file of --token-file cannot \
        be read; 64 wrong arguments.
        """

    /// The options' names, without hyphens.
    static let names = [
        "gateway", "token-file", "gateway-ca", "gateway-certificate", "gateway-key",
    ]

    /// The options as they have to be typed for another command, each behind a space.
    var words: String {
        zip(
            GatewayOptions.names, [gateway, tokenFile, gatewayCA, gatewayCertificate, gatewayKey]
        )
        .compactMap { name, value in value.map { " --\(name) \(ShellWord.quoted($0))" } }
        .joined()
    }

    private var trust: GatewayTrust {
        GatewayTrust(
            authorities: gatewayCA, certificate: gatewayCertificate, key: gatewayKey,
            environment: CommandLineIO.environment)
    }

    /// A client of the gateway that the options and the environment name.
    func client(
        needsToken: Bool = true, interrupts: Interrupts = .none
    ) throws(ClientError) -> GatewayClient {
        let gateway = try RemoteGateway.find(
            option: gateway, tokenFile: tokenFile, trust: trust,
            environment: CommandLineIO.environment, needsToken: needsToken)
        return GatewayClient(gateway, interrupts: interrupts)
    }

    /// Does `work` with the gateway that the options and the environment name, or that runs here;
    /// without any of them with a private one, for as long as `work` takes.
    func withGateway(
        interrupts: Interrupts, _ work: (GatewaySource) throws(ClientError) -> Void
    ) throws(ClientError) {
        let environment = CommandLineIO.environment
        let source: GatewaySource
        do throws(ClientError) {
            source = GatewaySource(
                try RemoteGateway.find(
                    option: gateway, tokenFile: tokenFile, trust: trust,
                    environment: environment))
        } catch .noGateway {
            source = try GatewaySource(
                private: "/proc/self/exe", environment: environment, interrupts: interrupts)
        }
        defer { source.end() }
        try work(source)
    }
}
