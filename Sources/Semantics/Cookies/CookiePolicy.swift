/// What a jar is told with every cookie that it is given.
public struct CookiePolicy: Sendable {
    /// S-21: whose cookies responses may set. What a client stores by itself is not asked for.
    public var accept: CookieAcceptPolicy
    /// Whether others register names under a domain (<https://publicsuffix.org/list/>, by its
    /// algorithm: `com` and `co.uk` are, and so is any top-level name that the list does not know).
    ///
    /// It is asked for names in lower case and A-labels, without dots at either end; never for an
    /// address.
    public var isPublicSuffix: @Sendable (String) -> Bool

    /// A policy from its parts.
    public init(
        accept: CookieAcceptPolicy = .onlyFromMainDocumentDomain,
        isPublicSuffix: @escaping @Sendable (String) -> Bool
    ) {
        self.accept = accept
        self.isPublicSuffix = isPublicSuffix
    }

    /// S-21: whether a response from this URL may set cookies at all.
    ///
    /// - Parameters:
    ///   - url: what was fetched: a hop of the task.
    ///   - mainDocument: the task's original URL. Sites are compared by their registrable domains;
    ///     neither scheme nor port counts.
    /// - Returns: why not; nil if it may.
    func refusal(of url: WebURL, mainDocument: WebURL) -> CookieRejection? {
        switch accept {
        case .always: return nil
        case .never: return .acceptPolicy
        case .onlyFromMainDocumentDomain:
            let hosts = (CookieHost(url), CookieHost(mainDocument))
            if hosts.0 == hosts.1 { return nil }
            let sites = (
                hosts.0.site(isPublicSuffix: isPublicSuffix),
                hosts.1.site(isPublicSuffix: isPublicSuffix)
            )
            return sites.0.hasBytes(of: sites.1) ? nil : .thirdParty
        }
    }
}

/// How much a jar holds (RFC 6265bis §6.1).
public struct CookieLimits: Hashable, Sendable {
    /// Cookies of one `domain` value, 1 and up; the RFC asks for 50 at least, browsers hold about
    /// 180.
    public var perDomain: Int
    /// All cookies, 1 and up; the RFC asks for 3000 at least.
    public var total: Int

    /// Limits from their parts.
    public init(perDomain: Int = 180, total: Int = 3000) {
        self.perDomain = perDomain
        self.total = total
    }
}
