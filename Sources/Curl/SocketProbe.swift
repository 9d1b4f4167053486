internal import Glibc

/// What can be told of a socket without taking anything from it.
enum SocketProbe {
    /// Whether the other side has not ended it, or something that it has sent is still to be read.
    static func isOpen(_ socket: CInt?) -> Bool {
        guard let socket else { return false }
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count > 0 || (count < 0 && errno == EAGAIN)
    }

    /// Whether there is anything to be read, be it the end.
    static func hasInput(_ socket: CInt) -> Bool {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count >= 0 || errno != EAGAIN
    }
}
