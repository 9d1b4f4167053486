import Glibc

/// Where a test connects to or listens at.
public enum Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// A numeric IPv4 or IPv6 address and a port; port 0 lets the kernel choose.
    case tcp(host: String, port: UInt16)
    /// The path of a unix socket, of at most 107 bytes.
    case unix(path: String)

    /// `127.0.0.1:80`, `[::1]:80`, or the path.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        }
    }

    /// Connects, blocking.
    func connect() throws -> Socket {
        let socket = try makeSocket()
        let result = try withAddress { Glibc.connect(socket.descriptor, $0, $1) }
        guard result == 0 else { throw SocketError("connect to \(self)") }
        return socket
    }

    /// Listens and tells the endpoint that was bound.
    func listen(backlog: Int32 = 1024) throws -> (Socket, Endpoint) {
        let socket = try makeSocket()
        socket.set(SO_REUSEADDR, to: 1)
        guard try withAddress({ bind(socket.descriptor, $0, $1) }) == 0 else {
            throw SocketError("bind \(self)")
        }
        _ = fcntl(socket.descriptor, F_SETFL, O_NONBLOCK)
        guard Glibc.listen(socket.descriptor, backlog) == 0 else { throw SocketError("listen") }
        guard case .tcp(let host, _) = self else { return (socket, self) }
        return (socket, .tcp(host: host, port: try boundPort(of: socket)))
    }

    /// A port of this machine where nothing listens: below those that the system hands out itself,
    /// so that no connection or listener of another test comes to have it meanwhile.
    public static func freePort() throws -> UInt16 {
        for _ in 0..<1000 {
            let port = UInt16.random(in: 15_000..<32_000)
            if let (socket, _) = try? tcp(host: "127.0.0.1", port: port).listen(backlog: 1) {
                socket.close()
                return port
            }
        }
        throw SocketError("find a free port")
    }

    private var family: Int32 {
        switch self {
        case .unix: AF_UNIX
        case .tcp(let host, _): host.contains(":") ? AF_INET6 : AF_INET
        }
    }

    private func makeSocket() throws -> Socket {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw SocketError("socket") }
        let socket = Socket(adopting: descriptor)
        if family != AF_UNIX { socket.set(TCP_NODELAY, level: Int32(IPPROTO_TCP), to: 1) }
        return socket
    }

    private func withAddress(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        switch self {
        case .tcp(let host, let port) where family == AF_INET6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else {
                throw SocketError("inet_pton \(host)", EINVAL)
            }
            return withRaw(address, body)
        case .tcp(let host, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
                throw SocketError("inet_pton \(host)", EINVAL)
            }
            return withRaw(address, body)
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
                guard bytes.count < room.count else { return false }
                room.copyBytes(from: bytes)
                return true
            }
            guard fits else { throw SocketError("unix socket path", ENAMETOOLONG) }
            return withRaw(address, body)
        }
    }

    private func withRaw<Address>(
        _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafeBytes(of: address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { pointer in
                guard let base = pointer.baseAddress else { return -1 }
                return body(base, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    private func boundPort(of socket: Socket) throws -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(socket.descriptor, $0, &size)
            }
        }
        guard result == 0 else { throw SocketError("getsockname") }
        // The port has the same place in sockaddr_in and sockaddr_in6.
        return withUnsafeBytes(of: storage) {
            UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
    }
}
