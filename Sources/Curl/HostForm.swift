internal import Engine
internal import Semantics
internal import Syntax

/// A host as libcurl gave it: a name of letters, digits, `-` and `_`, or an address.
struct HostForm {
    /// In lower case; an IPv6 address in RFC 5952's form without brackets.
    let host: String
    /// The host as it stands in a URL.
    let authority: String

    private let zone: String?
    private let isBracketed: Bool

    init(_ text: String, zone: String?) {
        let text = text.lowercased()
        isBracketed = text.hasPrefix("[")
        self.zone = zone
        if isBracketed {
            let inside = String(text.dropFirst().dropLast())
            host = IPAddress(inside)?.description ?? inside
            authority = "[" + host + (zone.map { "%25" + $0 } ?? "") + "]"
        } else {
            host = text
            authority = text
        }
    }

    /// Refuses what two parsers or a resolver could read in two ways.
    func check() throws(URLRejection) {
        guard isBracketed else { return try HostForm.check(name: host) }
        guard case .v6 = IPAddress(host) else {
            throw .malformed("The host is not a valid IPv6 address.")
        }
        guard zone?.utf8.allSatisfy(Octets.isUnreserved) ?? true else {
            throw .malformed("The zone of the IPv6 address is not valid.")
        }
    }

    private static func check(name: String) throws(URLRejection) {
        guard name.utf8.allSatisfy(isNameByte), name.utf8.count <= 254 else {
            throw .malformed("The host name is not valid.")
        }
        var labels = name.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard labels.allSatisfy({ !$0.isEmpty }), let last = labels.last else {
            throw .malformed("The host name has an empty label.")
        }
        // The WHATWG URL standard §3.5: a host whose last label is a number is an IPv4 address or
        // nothing.
        guard !isNumber(last) || IPAddress(name) != nil else {
            throw .malformed("The host is not a valid IPv4 address.")
        }
    }

    private static func isNumber(_ label: Substring) -> Bool {
        if label.utf8.allSatisfy(Octets.isDigit) { return true }
        return label.hasPrefix("0x")
            && label.utf8.dropFirst(2).allSatisfy { Hex.value(of: $0) != nil }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        Octets.isUnreserved(byte) && byte != UInt8(ascii: "~")
    }
}
