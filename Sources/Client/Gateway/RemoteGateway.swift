/// A gateway to talk to, and as whom.
public struct RemoteGateway: Equatable, Sendable {
    /// Where it listens.
    public let address: GatewayAddress
    /// The bearer token; nil for the few routes that need none.
    public let token: String?
    /// How it is recognized where it speaks TLS.
    public let trust: GatewayTrust
    /// Whether it is there for this user's commands alone, and ends with them.
    public let isPrivate: Bool

    /// A gateway of these parts. The token must be visible ASCII.
    public init(
        address: GatewayAddress, token: String?, trust: GatewayTrust = GatewayTrust(),
        isPrivate: Bool = false
    ) {
        self.address = address
        self.trust = trust
        self.token = token
        self.isPrivate = isPrivate
    }

    /// What it is called in errors: nobody knows the address of a private one.
    var name: String { isPrivate ? "the gateway of this command" : address.description }

    /// Finds the gateway that a command is for.
    ///
    /// The address is `option` (`--gateway`), else `FERRY_GATEWAY`, else what the gateway of this
    /// user on this machine has left. The token is read from `tokenFile` (`--token-file`), else it
    /// is `FERRY_TOKEN`, else the one left with exactly that address: it is never sent to another.
    /// What was left recognizes an https gateway, too, unless `trust` names authorities.
    /// - Throws: `noGateway`, `noToken` when `needsToken`, `badArgument`, `file`, `unreadable`.
    public static func find(
        option: String?, tokenFile: String?, trust: GatewayTrust = GatewayTrust(),
        environment: [String: String], needsToken: Bool = true
    ) throws(ClientError) -> RemoteGateway {
        var trust = trust
        try trust.check()
        let named = option ?? environment["FERRY_GATEWAY"].flatMap { $0.isEmpty ? nil : $0 }
        var token = try givenToken(tokenFile, environment)
        let address: GatewayAddress
        if let named {
            let given = try GatewayAddress(parsing: named)
            // The address is known: a spoilt file that is not needed is no reason to fail.
            let left = (try? DiscoveryFile.all(environment: environment)) ?? []
            let found = left.lazy.compactMap { own in
                (try? GatewayAddress(parsing: own.gateway)).map { (own, $0) }
            }.first { given.leads(to: $0.1) }
            if let (own, _) = found {
                if token == nil { token = try checked(own.token) }
                trust.publicKey = own.publicKey
            }
            // The one that it was left for: by name, another program could be found.
            address = found?.1 ?? given
        } else {
            guard let left = try DiscoveryFile.read(environment: environment) else {
                throw .noGateway
            }
            address = try GatewayAddress(parsing: left.gateway)
            if token == nil { token = try checked(left.token) }
            trust.publicKey = left.publicKey
        }
        if token == nil && needsToken { throw .noToken(gateway: address.description) }
        return RemoteGateway(address: address, token: token, trust: trust)
    }

    private static func givenToken(
        _ file: String?, _ environment: [String: String]
    ) throws(ClientError) -> String? {
        if let file {
            let bytes = try LocalFile.readGiven(file, limit: 4096)
            let text = String(decoding: bytes, as: UTF8.self)
            return try checked(String(text.prefix { $0 != "\n" && $0 != "\r\n" }))
        }
        guard let token = environment["FERRY_TOKEN"], !token.isEmpty else { return nil }
        return try checked(token)
    }

    /// A token goes into a header line: what is not visible ASCII has no place in it.
    private static func checked(_ token: String) throws(ClientError) -> String {
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .badArgument("the token is not one: it must be visible ASCII on one line")
        }
        return token
    }
}
