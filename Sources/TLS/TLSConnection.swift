internal import COpenSSL
public import Glibc

/// An end of TLS on one connected, non-blocking socket, which somebody else watches and closes.
///
/// It does what can be done without waiting, and says what it waits for. One thread at a time, the
/// same that has made it.
public final class TLSConnection {
    /// How far a handshake has come.
    public enum Step: Equatable {
        /// Both sides have agreed.
        case done
        /// The peer has to send more.
        case needsInput
        /// The socket has to have room.
        case needsRoom
        /// They will not agree; the peer was told why, unless it has gone.
        case failed(HandshakeFailure)
    }

    /// Why nothing more comes.
    public enum Ending {
        /// The peer has said that it sends no more.
        case closed
        /// The stream was cut, or is broken: there is no telling whether it is whole.
        case cut
    }

    /// Whether the handshake is done.
    public private(set) var isEstablished = false
    /// Set once nothing more comes.
    public private(set) var ending: Ending?
    /// Whether what was to be read has to send something first, for which there was no room.
    public private(set) var readNeedsRoom = false

    private let ssl: OpaquePointer
    /// Of a server or a client; kept alive.
    private let context: AnyObject
    private let socket: UnsafeMutablePointer<SocketBIO.State>
    /// Whether the last read has taken all that can be taken without the socket.
    private var isDrained = true
    private var isBroken = false
    /// Why a handshake has failed, in OpenSSL's words.
    public private(set) var failureWords: String?

    /// What is read of the socket in one call beyond what the caller has room for.
    private static let readAhead = 32 << 10
    /// The most that a record holds (RFC 8446 §5.1).
    private static let recordSize = 16 << 10
    /// Where small runs of bytes are gathered into a record; used within one call only, and only by
    /// the thread of the listener.
    nonisolated(unsafe) private static let gathering = UnsafeMutableRawBufferPointer.allocate(
        byteCount: recordSize, alignment: 64)

    /// The server's end of a connection; nil without memory.
    public convenience init?(_ context: TLSContext, socket: CInt) {
        self.init(context, context.raw, socket: socket)
        SSL_set_accept_state(ssl)
    }

    /// The client's end of a connection; nil without memory.
    ///
    /// - Parameters:
    ///   - context: who is trusted.
    ///   - host: whose certificate the server has to show.
    ///   - socket: its socket.
    public convenience init?(_ context: TLSClientContext, host: HostName, socket: CInt) {
        self.init(context, context.raw, socket: socket)
        SSL_set_connect_state(ssl)
        SSL_set_hostflags(ssl, CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        let isSet =
            if host.isAddress {
                X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.text) == 1
            } else {
                SSL_set1_host(ssl, host.text) == 1
                    && copenssl_set_server_name(ssl, host.text) == 1
            }
        // Else any server's certificate would do.
        guard isSet else {
            ERR_clear_error()
            return nil
        }
    }

    private init?(_ context: AnyObject, _ raw: OpaquePointer, socket descriptor: CInt) {
        guard let ssl = SSL_new(raw) else { return nil }
        socket = .allocate(capacity: 1)
        socket.initialize(to: SocketBIO.State(socket: descriptor))
        self.ssl = ssl
        self.context = context
        guard let bio = SocketBIO.make(socket) else {
            ERR_clear_error()
            return nil
        }
        // One reference for both directions.
        SSL_set_bio(ssl, bio, bio)
    }

    deinit {
        SSL_free(ssl)
        socket.deallocate()
    }

    // MARK: The handshake

    /// Goes on with the handshake.
    public func handshake() -> Step {
        socket.pointee.budget = TLSConnection.readAhead
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_NONE:
            isEstablished = true
            isDrained = false
            return .done
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_WANT_WRITE: return .needsRoom
        case SSL_ERROR_SYSCALL:
            isBroken = true
            ERR_clear_error()
            return .failed(.disconnected)
        default:
            isBroken = true
            let verdict = SSL_get_verify_result(ssl)
            failureWords =
                verdict == Int(X509_V_OK)
                ? OpenSSLWords.lastError
                : X509_verify_cert_error_string(verdict).map(String.init(cString:))
            return .failed(.taken())
        }
    }

    /// Whether a former session was taken up again.
    public var isResumed: Bool { SSL_session_reused(ssl) == 1 }

    /// What both sides have agreed to speak above TLS, by its name of ALPN (RFC 7301); nil where
    /// the client has named nothing.
    public var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: CUnsignedInt = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        return name.map {
            String(decoding: UnsafeBufferPointer(start: $0, count: Int(count)), as: UTF8.self)
        }
    }

    // MARK: Reading

    /// Whether the next read may give bytes, or the end, that the socket does not tell of.
    public var holdsInput: Bool { !isDrained && (ending != nil || SSL_has_pending(ssl) != 0) }

    /// Reads what is there.
    ///
    /// - Parameters:
    ///   - room: Where to, not empty.
    ///   - isEager: Whether the socket is asked until it has nothing more; else what one look has
    ///     brought is enough.
    /// - Returns: how many bytes; 0 where there are none now, or where there is an `ending`.
    public func read(into room: UnsafeMutableRawBufferPointer, isEager: Bool = false) -> Int {
        guard isEstablished, ending == nil else {
            isDrained = true
            return 0
        }
        socket.pointee.budget = room.count + TLSConnection.readAhead
        isDrained = false
        readNeedsRoom = false
        var filled = 0
        while filled < room.count {
            ERR_clear_error()
            let count = SSL_read(
                ssl, room.baseAddress.map { $0 + filled }, CInt(clamping: room.count - filled))
            guard count > 0 else {
                switch SSL_get_error(ssl, count) {
                case SSL_ERROR_WANT_READ: isDrained = true
                case SSL_ERROR_WANT_WRITE: (isDrained, readNeedsRoom) = (true, true)
                case SSL_ERROR_ZERO_RETURN: ending = .closed
                default:
                    (ending, isBroken) = (.cut, true)
                    ERR_clear_error()
                }
                break
            }
            filled += Int(count)
            if !isEager, SSL_has_pending(ssl) == 0 { break }
        }
        // An end that comes behind bytes is told by the read that follows them.
        if ending != nil, filled == 0 { isDrained = true }
        return filled
    }

    // MARK: Writing

    /// Encrypts and gives to the kernel what it takes.
    ///
    /// What was not taken has to come first the next time, with at least as many bytes.
    /// - Returns: how many bytes; nil where the connection is broken.
    public func write(_ parts: UnsafePointer<iovec>, _ count: Int) -> Int? {
        guard isEstablished else { return 0 }
        guard !isBroken else { return nil }
        let parts = UnsafeBufferPointer(start: parts, count: count)
        var taken = 0
        while let piece = TLSConnection.piece(of: parts, behind: taken) {
            ERR_clear_error()
            let written = SSL_write(ssl, piece.baseAddress, CInt(clamping: piece.count))
            guard written > 0 else {
                // It never waits for the client, which may not begin another handshake.
                if SSL_get_error(ssl, written) == SSL_ERROR_WANT_WRITE { return taken }
                isBroken = true
                ERR_clear_error()
                return nil
            }
            taken += Int(written)
        }
        return taken
    }

    /// The bytes for the next record: a long run as it is, short ones gathered. Nil at the end.
    private static func piece(
        of parts: UnsafeBufferPointer<iovec>, behind taken: Int
    ) -> UnsafeRawBufferPointer? {
        var skipped = taken
        var filled = 0
        for part in parts {
            let run = UnsafeRawBufferPointer(start: part.iov_base, count: part.iov_len)
            let rest = UnsafeRawBufferPointer(rebasing: run.dropFirst(skipped))
            skipped -= run.count - rest.count
            guard !rest.isEmpty else { continue }
            if filled == 0, rest.count >= recordSize || parts.count == 1 { return rest }
            let count = min(rest.count, recordSize - filled)
            UnsafeMutableRawBufferPointer(rebasing: gathering[filled...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
            filled += count
            if filled == recordSize { break }
        }
        return filled == 0 ? nil : UnsafeRawBufferPointer(rebasing: gathering[..<filled])
    }

    /// Tells the client that nothing more will be sent (RFC 8446 §6.1).
    /// - Returns: false where that waits for room; then it is to be called again.
    public func sayGoodbye() -> Bool {
        guard isEstablished, !isBroken else { return true }
        ERR_clear_error()
        let result = SSL_shutdown(ssl)
        guard result < 0 else { return true }
        let isWaiting = SSL_get_error(ssl, result) == SSL_ERROR_WANT_WRITE
        ERR_clear_error()
        return !isWaiting
    }
}
