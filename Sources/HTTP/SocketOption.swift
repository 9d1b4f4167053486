internal import Glibc

/// What setsockopt(2) sets.
enum SocketOption {
    /// Turns an option on; a socket that does not have it stays as it is.
    static func turnOn(_ option: CInt, _ level: CInt, of socket: CInt) {
        var on: CInt = 1
        setsockopt(socket, level, option, &on, socklen_t(MemoryLayout<CInt>.size))
    }
}
