internal import Syntax

extension Cookie {
    /// The cookie that a response sets: RFC 6265bis §5.7, steps 5–21 but for 16, which asks the
    /// jar.
    ///
    /// Secure is https and nothing else: what "localhost" is here is the gateway's machine, not the
    /// client's. Requests are same-site, since no document makes them (§5.2), so that step 18
    /// passes.
    ///
    /// - Parameters:
    ///   - set: the field, read.
    ///   - url: what was fetched.
    ///   - isPublicSuffix: as in `CookiePolicy`.
    ///   - now: when the response came.
    /// - Throws: what makes the cookie one to ignore.
    init(
        _ set: SetCookie, from url: WebURL, isPublicSuffix: (String) -> Bool, at now: Timestamp
    ) throws(CookieRejection) {
        let host = CookieHost(url)
        let domain = try set.domain.flatMap { text throws(CookieRejection) in
            try Self.domain(text, for: host, isPublicSuffix: isPublicSuffix)
        }
        let path =
            if case .path(let path) = set.path { path } else { CookiePath.standard(for: url) }
        self.init(
            name: set.name, value: set.value, domain: domain ?? host.name, path: path,
            expires: set.expiry(at: now), isSecure: set.isSecure, isHTTPOnly: set.isHTTPOnly,
            sameSite: set.sameSite, isHostOnly: domain == nil, creationTime: now)
        guard path.utf8.count <= SetCookie.attributeByteLimit else { throw .pathTooLong }
        guard !isSecure || url.isSecure else { throw .secureFromInsecure }
        try checkPromises(hasPath: set.path != nil)
    }

    /// Steps 8–10: the cookie's domain; nil for a cookie of the host alone.
    private static func domain(
        _ attribute: String, for host: CookieHost, isPublicSuffix: (String) -> Bool
    ) throws(CookieRejection) -> String? {
        guard attribute.utf8.allSatisfy({ $0 < 0x80 }) else { throw .domainNotASCII }
        guard !attribute.isEmpty else { return nil }
        let domain = host.isAddress ? CookieHost(attribute).name : attribute
        let suffix = domain.droppingFinalDot
        if !host.isAddress, !suffix.isEmpty, isPublicSuffix(suffix) {
            guard host.name.hasBytes(of: domain) else { throw .publicSuffix }
            return nil
        }
        guard host.isIn(domain) else { throw .foreignDomain }
        return domain
    }

    /// Steps 19–21: what `SameSite=None` and the prefixes promise to servers.
    private func checkPromises(hasPath: Bool) throws(CookieRejection) {
        if sameSite == .none, !isSecure { throw .sameSiteNoneInsecure }
        if name.startsIgnoringCase("__Secure-"), !isSecure { throw .securePrefix }
        if name.startsIgnoringCase("__Host-") {
            guard isSecure, isHostOnly, hasPath, path == "/" else { throw .hostPrefix }
        }
    }

    /// Refuses what no response could have set: for cookies that clients and files bring.
    func check(isPublicSuffix: (String) -> Bool) throws(CookieRejection) {
        guard !name.hasCookieControl, !value.hasCookieControl, !path.hasCookieControl else {
            throw .controlCharacter
        }
        guard !name.isEmpty else { throw .empty }
        guard name.utf8.count + value.utf8.count <= SetCookie.byteLimit else { throw .tooLong }
        guard !name.utf8.contains(UInt8(ascii: "=")),
            [name, value, path].allSatisfy(\.isCookieText)
        else { throw .notExpressible }
        guard path.utf8.first == UInt8(ascii: "/") else { throw .malformedPath }
        guard path.utf8.count <= SetCookie.attributeByteLimit else { throw .pathTooLong }
        try checkDomain(isPublicSuffix: isPublicSuffix)
        try checkPromises(hasPath: true)
    }

    private func checkDomain(isPublicSuffix: (String) -> Bool) throws(CookieRejection) {
        guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { throw .domainNotASCII }
        let host = CookieHost(domain)
        guard !domain.isEmpty, domain.utf8.count <= SetCookie.attributeByteLimit,
            domain.utf8.first != UInt8(ascii: "."), host.name.hasBytes(of: domain),
            domain.utf8.allSatisfy({ Self.isHostByte($0) })
        else { throw .malformedDomain }
        let suffix = domain.droppingFinalDot
        guard !suffix.isEmpty else { throw .malformedDomain }
        if !isHostOnly, !host.isAddress, isPublicSuffix(suffix) { throw .publicSuffix }
    }

    /// RFC 3986 §3.2.2: a name's bytes, and those of addresses with zones.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"),
            UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: ","), UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "%"):
            true
        // Capitals too: a zone is a name of this machine's.
        default: Octets.isUnreserved(byte)
        }
    }
}

extension String {
    /// Whether `Set-Cookie` could have said it.
    fileprivate var isCookieText: Bool {
        !utf8.contains(UInt8(ascii: ";")) && trimmingFieldSpace.utf8.count == utf8.count
    }
}
