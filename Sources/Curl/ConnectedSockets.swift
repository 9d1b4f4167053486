internal import Glibc

/// What libcurl tells of a connection before a request goes out on it.
struct ConnectionEnds: Hashable {
    /// Of the other side, or of a proxy; empty where libcurl does not know.
    let address: String
    let port: Int
    let localPort: Int
}

/// The sockets of a multi handle's connections. libcurl 7.88 tells of a connection's ends, but not
/// of its socket, before it has used that (measured: CURLINFO_ACTIVESOCKET is -1 then).
struct ConnectedSockets {
    private var sockets: [ConnectionEnds: CInt] = [:]
    private var ends: [CInt: ConnectionEnds] = [:]

    /// A connection is there, on one of the sockets that were made for it.
    mutating func note(_ ends: ConnectionEnds, among candidates: [CInt]) {
        guard let socket = candidates.last(where: { Self.localPort(of: $0) == ends.localPort })
        else { return }
        sockets[ends] = socket
        self.ends[socket] = ends
    }

    /// A socket is closed.
    mutating func remove(_ socket: CInt) {
        guard let ends = ends.removeValue(forKey: socket) else { return }
        sockets[ends] = nil
    }

    /// The socket of a connection; nil where that is not known.
    subscript(ends: ConnectionEnds) -> CInt? { sockets[ends] }

    private static func localPort(of socket: CInt) -> Int? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutableBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                getsockname(socket, $0.baseAddress, &length)
            }
        }
        guard code == 0 else { return nil }
        // The port lies at the same place in both families.
        return withUnsafeBytes(of: address) {
            Int(UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        }
    }
}
