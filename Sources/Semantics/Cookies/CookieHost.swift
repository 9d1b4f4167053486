internal import Syntax

/// A host as cookies see it: canonical, and without its port (RFC 6265bis §5.1.2).
public struct CookieHost: Hashable, Sendable {
    /// In lower case, A-labels; an address in its canonical text, with its zone behind `%`.
    public let name: String
    /// Whether it is an address, or can be no name: there are no domains above it.
    public let isAddress: Bool

    /// The host of a URL.
    public init(_ url: WebURL) {
        self.init(url.zone.map { "\(url.host)%\($0)" } ?? url.host)
    }

    /// A host's text: a name or an address, in brackets or not, in whatever case.
    init(_ text: String) {
        let isV6 = text.utf8.contains(UInt8(ascii: ":"))
        // What ends in a number is meant as an address, or is nothing (WHATWG URL, "ends in a
        // number").
        guard isV6 || text.endsInNumber else {
            self.name = text.asciiLowercased
            self.isAddress = false
            return
        }
        var bare = text[...]
        if bare.utf8.first == UInt8(ascii: "["), bare.utf8.last == UInt8(ascii: "]") {
            bare = bare.dropFirst().dropLast()
        }
        // A zone belongs to the address, as a name of this machine's: `fe80::1%eth0`.
        let end = bare.utf8.firstIndex(of: UInt8(ascii: "%")) ?? bare.endIndex
        let digits = String(bare[..<end]).droppingFinalDot
        let address = IPAddress(digits) ?? IPAddress(anySpelling: digits)
        self.name = address.map { $0.description + bare[end...] } ?? text.asciiLowercased
        self.isAddress = true
    }

    /// Whether it is the domain, or a name below it (§5.1.3).
    public func isIn(_ domain: String) -> Bool {
        name.hasBytes(of: domain) || !isAddress && name.isBelow(domain)
    }

    /// The part that one owner has registered, such as `example.co.uk`; addresses and public
    /// suffixes stand for themselves.
    ///
    /// Costs a question for every label at most, of the kind of `CookiePolicy`. A dot at the end
    /// does not count.
    public func site(isPublicSuffix: (String) -> Bool) -> String {
        var site = name.droppingFinalDot
        guard !isAddress, !isPublicSuffix(site) else { return site }
        // From the longest suffix on: the first public one ends above the site.
        for parent in CookieHost(site).domains.dropFirst() {
            if isPublicSuffix(parent) { return site }
            site = parent
        }
        return site
    }

    /// The host and the domains above it, the longest first; of those only what a `Domain`
    /// attribute can say.
    var domains: [String] {
        var domains = [name]
        guard !isAddress else { return domains }
        var rest = name.utf8[...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            // The limit also bounds the work for a host of a thousand labels.
            if !rest.isEmpty, rest.count <= SetCookie.attributeByteLimit {
                domains.append(String(Substring(rest)))
            }
        }
        return domains
    }
}

extension String {
    /// Whether it is the domain with labels before it, whatever the labels are.
    func isBelow(_ domain: String) -> Bool {
        let above = utf8.count - domain.utf8.count - 1
        guard !domain.isEmpty, above >= 0 else { return false }
        let rest = utf8.dropFirst(above)
        return rest.first == UInt8(ascii: ".") && rest.dropFirst().elementsEqual(domain.utf8)
    }

    /// Whether the last label begins with a digit and has only what numbers have, as in every
    /// spelling of an address of version 4.
    fileprivate var endsInNumber: Bool {
        var label = utf8[...]
        if label.last == UInt8(ascii: ".") { label.removeLast() }
        if let dot = label.lastIndex(of: UInt8(ascii: ".")) { label = label[dot...].dropFirst() }
        guard let first = label.first, Octets.isDigit(first) else { return false }
        return label.allSatisfy(Octets.isDigit)
            || IPAddress(anySpelling: String(Substring(label))) != nil
    }

    /// The name without the dot of the root at its end.
    var droppingFinalDot: String {
        utf8.last == UInt8(ascii: ".") ? String(dropLast()) : self
    }
}
