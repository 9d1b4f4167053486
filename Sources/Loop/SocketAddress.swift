internal import CEvent
public import Files
internal import Glibc

/// Where a host of the internet listens, as connect(2) takes it.
public struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private let length: socklen_t
    /// AF_INET or AF_INET6.
    public internal(set) var family: CInt

    /// Copies an address.
    ///
    /// - Returns: nil for every family but the internet's.
    public init?(_ address: UnsafeRawBufferPointer) {
        guard address.count >= MemoryLayout<sa_family_t>.size else { return nil }
        family = CInt(address.loadUnaligned(as: sa_family_t.self))
        let size: Int
        switch family {
        case AF_INET: size = MemoryLayout<sockaddr_in>.size
        case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        guard address.count >= size else { return nil }
        length = socklen_t(size)
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: address.prefix(size)))
        }
    }

    /// In the order of the host.
    public var port: UInt16 {
        get { UInt16(bigEndian: bytes { $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self) }) }
        set {
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: newValue.bigEndian, toByteOffset: 2, as: UInt16.self)
            }
        }
    }

    /// The address alone, in the order of the network: 4 bytes, or 16.
    public var networkBytes: [UInt8] {
        bytes { Array(family == AF_INET6 ? $0[8..<24] : $0[4..<8]) }
    }

    private func bytes<Value>(_ read: (UnsafeRawBufferPointer) -> Value) -> Value {
        withUnsafeBytes(of: storage, read)
    }

    // MARK: System calls

    /// Makes a socket that does not block, and that children do not inherit, as socket(2) does:
    /// that of a stream where the type is nil.
    ///
    /// - Throws: `FileError`.
    public func makeSocket(
        type: CInt? = nil, protocol: CInt = 0
    ) throws(FileError) -> CInt {
        let flags = CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let type = type ?? CInt(SOCK_STREAM.rawValue)
        let descriptor = socket(family, type | flags, `protocol`)
        guard descriptor >= 0 else { throw FileError("socket", code: errno) }
        return descriptor
    }

    /// Begins to connect a socket.
    ///
    /// - Returns: zero, or why it is not connected: `EINPROGRESS` where it may be yet.
    public func connect(_ socket: CInt) -> CInt {
        bytes {
            Glibc.connect(socket, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, length)
                == 0
                ? 0 : errno
        }
    }

    // MARK: Names

    /// Why a name has no addresses.
    public struct LookUpError: Error {
        /// As getaddrinfo(3) returns it.
        public let code: CInt

        /// The error of this code.
        public init(code: CInt) { self.code = code }

        /// The resolver's words.
        public var words: String { String(cString: gai_strerror(code)) }

        /// Whether somebody was asked and has said that the name has none. EAI_AGAIN and all else
        /// is that nobody could be asked, or that who was asked does not know.
        public var isAnswer: Bool { code == EAI_NONAME || code == LookUpError.noAddress }

        /// EAI_NODATA of netdb.h, which shows it to those who ask for GNU's own only.
        private static let noAddress: CInt = -5
    }

    /// The addresses of a name, or an address in letters, without a port, in the order of RFC 6724:
    /// getaddrinfo(3), with its flags. Blocks for a name.
    public static func lookUp(
        _ host: String, flags: CInt = 0
    ) -> Result<[SocketAddress], LookUpError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { return .failure(LookUpError(code: code)) }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            let bytes = UnsafeRawBufferPointer(
                start: entry.ai_addr, count: Int(entry.ai_addrlen))
            if let address = SocketAddress(bytes) { found.append(address) }
        }
        return .success(found)
    }
}
