import Glibc
import Semantics

/// The addresses of this machine's interfaces: no destination for strangers.
enum MachineAddresses {
    /// All of them, as they are now.
    static func all() -> Set<IPAddress> {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: Set<IPAddress> = []
        var next = first
        while let entry = next {
            if let address = entry.pointee.ifa_addr.flatMap(address) { found.insert(address) }
            next = entry.pointee.ifa_next
        }
        return found
    }

    private static func address(_ socket: UnsafeMutablePointer<sockaddr>) -> IPAddress? {
        let bytes: [UInt8]
        switch CInt(socket.pointee.sa_family) {
        case AF_INET:
            bytes = socket.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            bytes = socket.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { Array($0) }
            }
        default: return nil
        }
        return IPAddress(networkBytes: bytes)
    }
}
