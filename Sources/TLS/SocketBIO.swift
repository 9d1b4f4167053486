internal import COpenSSL
internal import Glibc

/// A socket as OpenSSL reads and writes it: without signals, and only so much at a time, so that a
/// client that sends without end keeps nobody else waiting.
///
/// OpenSSL's own socket BIO would raise SIGPIPE.
enum SocketBIO {
    /// What the BIO has to know; lives as long as its connection.
    struct State {
        let socket: CInt
        /// Bytes that may still be read; with none left the socket seems to have none.
        var budget = 0
    }

    /// A BIO on a socket that somebody else closes; nil without memory.
    static func make(_ state: UnsafeMutablePointer<State>) -> OpaquePointer? {
        guard let method, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, state)
        BIO_set_init(bio, 1)
        return bio
    }

    // Made once, and never changed afterwards.
    nonisolated(unsafe) private static let method: OpaquePointer? = {
        let type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        guard let method = BIO_meth_new(type, "ferry socket") else { return nil }
        BIO_meth_set_write(method, write)
        BIO_meth_set_read(method, read)
        BIO_meth_set_ctrl(method, control)
        return method
    }()

    private static let allFlags = BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY

    private static func state(_ bio: OpaquePointer?) -> UnsafeMutablePointer<State>? {
        BIO_get_data(bio)?.assumingMemoryBound(to: State.self)
    }

    private static let write: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, CInt) -> CInt =
        { bio, bytes, count in
            BIO_clear_flags(bio, allFlags)
            guard let state = state(bio) else { return -1 }
            let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
            let sent = send(state.pointee.socket, bytes, Int(count), flags)
            if sent < 0, errno == EAGAIN || errno == EINTR {
                BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            }
            return CInt(sent)
        }

    private static let read:
        @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, CInt) -> CInt = {
            bio, bytes, count in
            BIO_clear_flags(bio, allFlags)
            guard let state = state(bio) else { return -1 }
            guard state.pointee.budget > 0 else {
                BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
                return -1
            }
            let received = recv(state.pointee.socket, bytes, Int(count), CInt(MSG_DONTWAIT))
            if received > 0 { state.pointee.budget -= received }
            if received < 0, errno == EAGAIN || errno == EINTR {
                BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
            }
            return CInt(received)
        }

    private static let control:
        @convention(c) (OpaquePointer?, CInt, CLong, UnsafeMutableRawPointer?) -> CLong = {
            _, command, _, _ in
            // Nothing is held back here, so there is nothing to flush; all else is not known.
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
}
