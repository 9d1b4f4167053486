internal import CCurl
internal import Glibc
internal import Loop
internal import Semantics

/// An address that libcurl wants a socket for.
struct SocketAddress {
    let ip: IPAddress
    /// In the order of the host.
    let port: Int
    private let family: CInt
    private let type: CInt
    private let `protocol`: CInt

    /// Nil for every family but the internet's.
    init?(_ pointer: UnsafePointer<curl_sockaddr>) {
        family = pointer.pointee.family
        type = pointer.pointee.socktype
        `protocol` = pointer.pointee.protocol
        // libcurl's struct ends with the room of a sockaddr; `addrlen` bytes lie there.
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(pointer) + offset, count: Int(pointer.pointee.addrlen))
        let place: (offset: Int, count: Int)
        switch family {
        case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size: place = (4, 4)
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size: place = (8, 16)
        default: return nil
        }
        port = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        let network = bytes[place.offset..<place.offset + place.count]
        guard let ip = IPAddress(networkBytes: network) else { return nil }
        self.ip = ip
    }

    /// A socket that children do not inherit.
    func makeSocket() throws(FileError) -> CInt {
        let flags = CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, type | flags, `protocol`)
        guard descriptor >= 0 else { throw FileError("socket", code: errno) }
        return descriptor
    }
}
