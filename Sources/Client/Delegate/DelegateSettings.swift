internal import JSON

/// What the user of `get` and `put` has said in advance about who asks, and what is asked.
public struct DelegateSettings: Equatable, Sendable {
    /// For the server of the URL, and no other one.
    public var user: Login?
    /// The HTTP proxy of the transfer; nil for none.
    public var proxy: WebPlace?
    /// The proxies of the environment, where it counts and `proxy` is nil.
    public private(set) var environmentProxies: EnvironmentProxies?
    /// For that proxy.
    public var proxyUser: Login?
    /// For the server of the URL, and no other one.
    public var identity: IdentityFile?
    /// Whether certificates that do not verify are accepted without asking.
    public var trustsEverybody = false
    /// Whether redirects are asked about.
    public var asksAboutRedirects = false
    /// The session to work in, which is the user's: its own delegate answers, and it stays. Nil for
    /// `shared`, or one of the command's own. All else here must not be set beside it.
    public var session: String?

    /// Nothing was said.
    public init() {}

    /// Takes the proxies of the environment, unless another one, or a session that has its own, was
    /// given. `hasPrompt` where a password can be asked for.
    public mutating func take(
        _ proxies: EnvironmentProxies, variables: [String: String], hasPrompt: Bool
    ) {
        guard proxy == nil, session == nil else { return }
        environmentProxies = proxies
        guard proxyUser == nil, let login = proxies.login else { return }
        let password = login.password ?? variables["FERRY_PROXY_PASSWORD"]
        if password != nil || hasPrompt { proxyUser = Login(user: login.user, password: password) }
    }

    /// The proxy that a transfer of `url` goes through; nil for none.
    func proxy(for url: String) -> WebPlace? { proxy ?? environmentProxies?.place(for: url) }

    /// Whether the transfer needs a session of its own though nobody can be asked.
    var isAnything: Bool { self != DelegateSettings() }

    /// Refuses what only a person at a terminal could complete.
    ///
    /// - Throws: `badArgument`.
    public func requireComplete() throws(ClientError) {
        if let user, user.password == nil {
            throw .badArgument("no password for \(user.user), and no terminal: set FERRY_PASSWORD")
        }
        if let proxyUser, proxyUser.password == nil {
            throw .badArgument(
                "no password for \(proxyUser.user), and no terminal: set FERRY_PROXY_PASSWORD")
        }
        if let identity, identity.wantsPassphrase {
            throw .badArgument(
                "no passphrase for \(identity.path), and no terminal: set "
                    + IdentityFile.passphraseVariable)
        }
        guard !asksAboutRedirects else { throw .badArgument("--ask needs a terminal") }
    }

    /// The body of `POST /v1/sessions`: a session that lasts over a restart of the gateway, as the
    /// shared one does, so that resume data are produced (S-56).
    func sessionJSON(description: String, decisionTimeout: Int) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", "default")
            json.member("description", description)
            if let proxy {
                json.object("configuration") { json in
                    json.object("connectionProxyDictionary") { json in
                        for scheme in ["HTTP", "HTTPS"] {
                            json.member(named: "\(scheme)Enable", true)
                            json.member(named: "\(scheme)Proxy", proxy.host)
                            json.member(named: "\(scheme)Port", proxy.port)
                        }
                    }
                }
            }
            if proxy == nil, let environmentProxies {
                json.object("configuration") { environmentProxies.write(to: &$0) }
            }
            json.object("delegate") { json in
                json.member(
                    "handles", asksAboutRedirects ? ["challenge", "redirect"] : ["challenge"])
                json.member("decisionTimeout", decisionTimeout)
            }
        }
        return json.finish()
    }
}
