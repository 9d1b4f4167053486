internal import CEvent
internal import Glibc

/// A bound socket that will listen, and the file it may have in the file system.
struct ListeningSocket {
    let descriptor: CInt
    /// Where it is bound, the port resolved.
    let address: ListenAddress

    /// Makes and binds a socket.
    ///
    /// - Throws: `ListenError` with the call that failed.
    init(_ wanted: ListenAddress) throws(ListenError) {
        switch wanted {
        case .tcp(let host, let port):
            try self.init(host: host == "localhost" ? "127.0.0.1" : host, port: port, wanted)
        case .unix(let path):
            try self.init(path: path, wanted)
        }
    }

    /// Takes the socket's file away. The descriptor belongs to the listener by then.
    func removeFile() {
        if case .unix(let path) = address { unlink(path) }
    }

    // MARK: TCP

    private init(host: String, port: UInt16, _ wanted: ListenAddress) throws(ListenError) {
        let isVersion6 = host.contains(":")
        let descriptor = try ListeningSocket.make(isVersion6 ? AF_INET6 : AF_INET, wanted)
        SocketOption.turnOn(SO_REUSEADDR, SOL_SOCKET, of: descriptor)
        // Accepted sockets inherit these two: answers leave at once, and a peer that vanished
        // without a word is found out.
        SocketOption.turnOn(TCP_NODELAY, CInt(IPPROTO_TCP), of: descriptor)
        SocketOption.turnOn(SO_KEEPALIVE, SOL_SOCKET, of: descriptor)
        let result: CInt
        if isVersion6 {
            SocketOption.turnOn(IPV6_V6ONLY, CInt(IPPROTO_IPV6), of: descriptor)
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            result =
                inet_pton(AF_INET6, host, &address.sin6_addr) == 1
                ? ListeningSocket.bind(descriptor, address) : EINVAL
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            result =
                inet_pton(AF_INET, host, &address.sin_addr) == 1
                ? ListeningSocket.bind(descriptor, address) : EINVAL
        }
        guard result == 0 else {
            close(descriptor)
            throw ListenError(operation: "bind", code: result, address: wanted)
        }
        self.descriptor = descriptor
        self.address = .tcp(host: host, port: ListeningSocket.port(of: descriptor))
    }

    // MARK: Unix

    private init(path: String, _ wanted: ListenAddress) throws(ListenError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard !bytes.isEmpty, bytes.count < room.count else { return false }
            room.copyBytes(from: bytes)
            return true
        }
        guard fits else {
            throw ListenError(operation: "socket path", code: ENAMETOOLONG, address: wanted)
        }
        try ListeningSocket.clearTheWay(path, address, wanted)
        let descriptor = try ListeningSocket.make(AF_UNIX, wanted)
        var failure = ListeningSocket.bind(descriptor, address)
        // Nobody can connect before `listen`: there is no moment in which others might.
        if failure == 0, chmod(path, 0o600) != 0 { failure = errno }
        guard failure == 0 else {
            close(descriptor)
            throw ListenError(operation: "bind", code: failure, address: wanted)
        }
        self.descriptor = descriptor
        self.address = wanted
    }

    /// Removes the socket file of a server that is no more; any other file, and a socket that
    /// somebody answers at, is left alone.
    private static func clearTheWay(
        _ path: String, _ address: sockaddr_un, _ wanted: ListenAddress
    ) throws(ListenError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ListenError(operation: "another file is there", code: EEXIST, address: wanted)
        }
        let probe = try make(AF_UNIX, wanted)
        defer { close(probe) }
        let failure = withRaw(address) { connect(probe, $0, $1) == 0 ? 0 : errno }
        guard failure == ECONNREFUSED else {
            throw ListenError(operation: "bind", code: EADDRINUSE, address: wanted)
        }
        unlink(path)
    }

    // MARK: System calls

    private static func make(
        _ family: CInt, _ wanted: ListenAddress
    ) throws(ListenError) -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else {
            throw ListenError(operation: "socket", code: errno, address: wanted)
        }
        return descriptor
    }

    /// Zero, or the error.
    private static func bind<Address>(_ descriptor: CInt, _ address: Address) -> CInt {
        withRaw(address) { Glibc.bind(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    private static func withRaw<Address, Result>(
        _ address: Address, _ body: (UnsafePointer<sockaddr>?, socklen_t) -> Result
    ) -> Result {
        withUnsafeBytes(of: address) { bytes in
            body(bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
        }
    }

    private static func port(of descriptor: CInt) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = getsockname(descriptor, $0, &size)
            }
        }
        // The port has the same place in sockaddr_in and sockaddr_in6.
        return withUnsafeBytes(of: storage) {
            UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
    }
}
