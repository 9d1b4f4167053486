/// Where the gateway may connect to: the public internet on ports 80, 443 and from 1024
/// on, and what the operator allows beside it.
///
/// The last word is `permits`, asked with the address of a socket before it connects and again
/// before a request goes out on a connection that was there already. `verdict` only makes hosts
/// that name no server, but this machine or an address, get the same answer everywhere, whatever
/// the resolver does.
public struct EgressPolicy: Equatable, Sendable {
    /// Opened by the operator; outranks everything that is denied.
    public var allowed: [AllowedDestination]
    /// The addresses of this machine's interfaces, denied although some may be global.
    public var ownAddresses: Set<IPAddress>

    /// The default policy is the one without arguments.
    public init(allowed: [AllowedDestination] = [], ownAddresses: Set<IPAddress> = []) {
        self.allowed = allowed
        self.ownAddresses = ownAddresses
    }

    /// Whether a connection to this address and port may be used.
    ///
    /// An allowed version 4 block does not open the forms of version 6 that carry its addresses.
    public func permits(address: IPAddress, port: Int) -> Bool {
        if allowed.contains(where: { $0.holds(address, port: port) }) { return true }
        return Self.isPublicPort(port) && DestinationClassifier.classify(address) == .global
            && !ownAddresses.contains(address)
    }

    /// What is known of a URL's host before any resolution.
    ///
    /// Takes a host with or without brackets, zone and final dots. `localhost` and all names under
    /// it stand for 127.0.0.1 and ::1 (RFC 6761 §6.3), and are permitted where one of both is: the
    /// socket's address is judged again.
    public func verdict(onHost host: String, port: Int) -> HostVerdict {
        let name = Self.bare(host).asciiLowercased
        if name == "localhost" || name.hasSuffix(".localhost") {
            return verdict(onAddresses: [.v4(0x7f00_0001), .v6(1)], port: port)
        }
        if let address = IPAddress(name) ?? IPAddress(anySpelling: name) {
            return verdict(onAddresses: [address], port: port)
        }
        return mayPermit(port: port) ? .needsResolution : .denied
    }

    private func verdict(onAddresses addresses: [IPAddress], port: Int) -> HostVerdict {
        addresses.contains { permits(address: $0, port: port) } ? .permitted : .denied
    }

    private func mayPermit(port: Int) -> Bool {
        Self.isPublicPort(port) || allowed.contains { $0.port.map { $0 == port } ?? true }
    }

    private static func isPublicPort(_ port: Int) -> Bool {
        port == 80 || port == 443 || (1024...65_535).contains(port)
    }

    /// The host without what curl and resolvers take off: brackets, a zone, final dots.
    private static func bare(_ host: String) -> Substring {
        var name = host[...]
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        if name.contains(":"), let zone = name.firstIndex(of: "%") { name = name[..<zone] }
        while name.hasSuffix(".") { name = name.dropLast() }
        return name
    }
}

/// What is known of a host before any resolution.
public enum HostVerdict: Hashable, Sendable {
    /// An address that may be connected to.
    case permitted
    /// An address, or a name of this machine, that may not; or a port that is open nowhere.
    case denied
    /// A name: its addresses decide.
    case needsResolution
}
