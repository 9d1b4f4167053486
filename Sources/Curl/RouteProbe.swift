internal import Glibc
internal import Semantics

/// Whether the kernel knows a way to an address. Asks its routing table and sends nothing: that is
/// what connect(2) does of a UDP socket. Some 10 µs.
enum RouteProbe {
    /// Ordinary addresses of the internet, to which as a rule nothing but a default route leads:
    /// those of a.root-servers.net. Nothing is sent there. Those for documentation would not do:
    /// careful hosts have routes that send them nowhere.
    static let farAway: [IPAddress] = [
        .v4(0xc629_0004), .v6(0x2001_0503_ba3e << 80 | 0x0002_0030),
    ]

    /// Whether there is a default route, of either version.
    static var hasWayOut: Bool { farAway.contains(where: hasRoute) }

    /// Whether a way leads to one of several addresses that were tried; nil for one alone, of which
    /// its errno tells all. libcurl has the errno of the last one: that of version 6, where the
    /// server has refused by version 4 (measured).
    static func hasRoute(toOneOf tried: [IPAddress]) -> Bool? {
        tried.count > 1 ? tried.contains(where: hasRoute) : nil
    }

    /// True also where the kernel could not be asked.
    static func hasRoute(to address: IPAddress) -> Bool {
        let isOld = address.bitCount == 32
        let type = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(isOld ? AF_INET : AF_INET6, type, 0)
        // A kernel without version 6 has no way to its addresses.
        guard descriptor >= 0 else { return errno != EAFNOSUPPORT }
        defer { close(descriptor) }
        return hasRoute(to: address, for: descriptor)
    }

    /// The same where the socket is, which is of the address's version.
    static func hasRoute(to address: IPAddress, for descriptor: CInt) -> Bool {
        let isOld = address.bitCount == 32
        let failure = isOld ? connect(descriptor, v4: address) : connect(descriptor, v6: address)
        // A route without an address to come from is of no use.
        return !RouteFailure.isLackOfRoute(osErrno: failure) && failure != EADDRNOTAVAIL
    }

    private static func connect(_ descriptor: CInt, v4 address: IPAddress) -> CInt {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = discard
        withUnsafeMutableBytes(of: &name.sin_addr) { $0.copyBytes(from: address.networkBytes) }
        return connect(descriptor, name)
    }

    private static func connect(_ descriptor: CInt, v6 address: IPAddress) -> CInt {
        var name = sockaddr_in6()
        name.sin6_family = sa_family_t(AF_INET6)
        name.sin6_port = discard
        withUnsafeMutableBytes(of: &name.sin6_addr) { $0.copyBytes(from: address.networkBytes) }
        return connect(descriptor, name)
    }

    private static let discard = in_port_t(9).bigEndian

    /// The errno, 0 for none.
    private static func connect<Name>(_ descriptor: CInt, _ name: Name) -> CInt {
        withUnsafeBytes(of: name) { bytes in
            let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            return Glibc.connect(descriptor, address, socklen_t(bytes.count)) == 0 ? 0 : errno
        }
    }
}
