/// Where a tenant's transfers may go, of what the gateway's policy (`EgressPolicy`) lets through:
/// hosts by name and, apart from that, the addresses that they lead to. It opens nothing.
public struct EgressNarrowing: Equatable, Sendable {
    /// Hosts that may be asked for; nil for all.
    public var allowedHosts: [HostPattern]?
    /// Hosts that may not, also where they are among the allowed ones.
    public var deniedHosts: [HostPattern] = []
    /// Addresses that may be connected to; nil for all.
    public var allowedAddresses: [AllowedDestination]?
    /// Addresses that may not, also where they are among the allowed ones.
    public var deniedAddresses: [AllowedDestination] = []

    /// One that takes nothing away.
    public init() {}

    /// One that permits nothing: for a tenant whose own is not known.
    public static let nothing: EgressNarrowing = {
        var narrowing = EgressNarrowing()
        narrowing.allowedHosts = []
        narrowing.allowedAddresses = []
        return narrowing
    }()

    /// Whether it takes nothing away.
    public var isEmpty: Bool { self == EgressNarrowing() }

    /// Whether a URL or a proxy of this host may be used, by what it is called: an address in a URL
    /// is a name, too.
    public func permits(host: String) -> Bool {
        guard allowedHosts != nil || !deniedHosts.isEmpty else { return true }
        let name = HostPattern.comparable(host)
        return allowedHosts?.contains { $0.matches(name) } ?? true
            && !deniedHosts.contains { $0.matches(name) }
    }

    /// Whether a connection to this address and port may be used.
    public func permits(address: IPAddress, port: Int) -> Bool {
        allowedAddresses?.contains { $0.holds(address, port: port) } ?? true
            && !deniedAddresses.contains { $0.holds(address, port: port) }
    }
}

/// A host's name, or all names below one: `*.example.com`.
public struct HostPattern: Hashable, Sendable, CustomStringConvertible {
    /// As it is written, in lower case.
    public let description: String

    /// Reads a pattern.
    ///
    /// - Returns: nil for what is no name: labels of 1 to 63 letters, digits, `-` and `_`, with
    ///   dots between them; a star may be the first one of several.
    public init?(_ text: String) {
        let name = text.asciiLowercased
        let rest = name.hasPrefix("*.") ? name.dropFirst(2) : name[...]
        let labels = rest.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
        }
        guard isName, name.utf8.count <= 253 else { return nil }
        description = name
    }

    /// A host as patterns are compared with it: lower case, without brackets and final dot.
    static func comparable(_ host: String) -> String {
        var name = host.asciiLowercased[...]
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        while name.hasSuffix(".") { name = name.dropLast() }
        return String(name)
    }

    func matches(_ name: String) -> Bool {
        guard description.hasPrefix("*.") else { return description == name }
        let suffix = description.dropFirst()
        return name.utf8.count > suffix.utf8.count && name.hasSuffix(suffix)
    }
}
