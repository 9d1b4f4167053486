public import Loop
internal import CEvent
internal import Glibc

/// Who is at the other end of a connection.
public struct Peer: Sendable, Hashable, CustomStringConvertible {
    /// The numeric address without a port; `unix` for a unix socket. What rate limits are kept by.
    public let address: String
    /// The remote port; 0 for a unix socket.
    public let port: UInt16

    /// Whether the connection came over a unix socket.
    public var isUnix: Bool { address == Peer.unix.address }

    /// The address, and the port if there is one.
    public var description: String {
        isUnix ? address : address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }

    static let unix = Peer(address: "unix", port: 0)

    private init(address: String, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// Reads a socket address of any family.
    init(_ storage: sockaddr_storage) {
        var storage = storage
        let length = MemoryLayout<sockaddr_storage>.size
        self = withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Peer in
                guard [AF_INET, AF_INET6].contains(CInt(address.pointee.sa_family)) else {
                    return .unix
                }
                var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
                var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
                let failure = getnameinfo(
                    address, socklen_t(length), &host, socklen_t(host.count), &service,
                    socklen_t(service.count), NI_NUMERICHOST | NI_NUMERICSERV)
                guard failure == 0 else { return .unix }
                return Peer(
                    address: Peer.text(host), port: UInt16(Peer.text(service)) ?? 0)
            }
        }
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// What belongs to a connection as long as it lasts, over all its requests.
@LoopActor
public final class ConnectionContext {
    /// Who is at the other end.
    public private(set) lazy var peer = Peer(address)
    /// What the application keeps for the connection, such as the principal of the token it saw
    /// last.
    public var attachment: AnyObject?
    /// Whether the connection came over a unix socket.
    public let isOverUnixSocket: Bool
    /// Whether the application trusts who is at the other end (`Request.trust`).
    public internal(set) var isTrusted = false

    private let address: sockaddr_storage

    init(address: sockaddr_storage) {
        self.address = address
        isOverUnixSocket = CInt(address.ss_family) == AF_UNIX
    }
}
