internal import CCurl
internal import Files
internal import Loop
internal import Semantics

/// A socket that libcurl wants, and for which address.
struct WantedSocket {
    let ip: IPAddress
    private let address: SocketAddress
    private let type: CInt
    private let `protocol`: CInt

    /// Nil for every family but the internet's.
    init?(_ pointer: UnsafePointer<curl_sockaddr>) {
        type = pointer.pointee.socktype
        `protocol` = pointer.pointee.protocol
        // libcurl's struct ends with the room of a sockaddr; `addrlen` bytes lie there.
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr),
            let address = SocketAddress(
                UnsafeRawBufferPointer(
                    start: UnsafeRawPointer(pointer) + offset, count: Int(pointer.pointee.addrlen))),
            address.family == pointer.pointee.family,
            let ip = IPAddress(networkBytes: address.networkBytes)
        else { return nil }
        self.address = address
        self.ip = ip
    }

    /// In the order of the host.
    var port: Int { Int(address.port) }

    /// Makes it.
    func make() throws(FileError) -> CInt {
        try address.makeSocket(type: type, protocol: `protocol`)
    }
}
