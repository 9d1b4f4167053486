internal import Glibc

/// Where a server listens.
public enum ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// A numeric IPv4 or IPv6 address, or `localhost` for 127.0.0.1; port 0 lets the system choose.
    case tcp(host: String, port: UInt16)
    /// A unix socket at a path of at most 107 bytes, for the user of this process alone.
    case unix(path: String)

    /// `127.0.0.1:8080`, `[::1]:8080`, or the path.
    public var description: String {
        switch self {
        case .tcp(let host, let port):
            host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        }
    }

    /// Whether it is a place in the file system.
    public var isUnixSocket: Bool {
        if case .unix = self { true } else { false }
    }
}

/// Why a server cannot listen.
public struct ListenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The call that failed, or what is wrong with the address.
    public let operation: String
    /// Its `errno`.
    public let code: CInt
    /// Where the server was to listen.
    public let address: ListenAddress

    /// For people: the address, the call and the system's words.
    public var description: String {
        "cannot listen at \(address): \(operation): \(String(cString: strerror(code)))"
    }
}
