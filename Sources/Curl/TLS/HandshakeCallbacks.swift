internal import COpenSSL
internal import Engine
internal import Loop

/// Every function that OpenSSL calls: each recovers the connection's `Handshake`, enters the loop's
/// isolation, and answers.
///
/// OpenSSL is called by libcurl, and libcurl by the loop, so that all of them run on the loop's
/// thread.
enum HandshakeCallbacks {
    /// Has a handshake hear of the connection that is made of this context, which holds it from
    /// here on.
    /// - Returns: false without memory.
    static func install(
        _ handshake: Handshake, in context: OpaquePointer, judgesTrust: Bool
    ) -> Bool {
        let object = Unmanaged.passRetained(handshake)
        guard SSL_CTX_set_ex_data(context, index, object.toOpaque()) == 1 else {
            object.release()
            return false
        }
        if judgesTrust { SSL_CTX_set_cert_verify_callback(context, verify, object.toOpaque()) }
        SSL_CTX_set_client_cert_cb(context, identityWanted)
        // RFC 8446 §4.6.2: a server may ask when it has seen the request.
        SSL_CTX_set_post_handshake_auth(context, 1)
        SSL_CTX_set_info_callback(context, info)
        return true
    }

    /// The handshake of a connection; nil where nothing was installed.
    static func handshake(of connection: OpaquePointer) -> Handshake? {
        guard let context = SSL_get_SSL_CTX(connection),
            let object = SSL_CTX_get_ex_data(context, index)
        else { return nil }
        return Unmanaged<Handshake>.fromOpaque(object).takeUnretainedValue()
    }

    /// Has a connection read in one turn of the loop what its handshake allows, and no more.
    static func limitReading(of connection: OpaquePointer, by handshake: Handshake) {
        guard let source = SSL_get_rbio(connection) else { return }
        let object = Unmanaged.passUnretained(handshake).toOpaque()
        BIO_set_callback_arg(source, object.assumingMemoryBound(to: CChar.self))
        BIO_set_callback_ex(source, reading)
    }

    /// Called before and after each operation (BIO_set_callback_ex): a result of 0 or less before
    /// it is its result.
    private static let reading: BIO_callback_fn_ex = {
        source, operation, _, _, _, _, result, byteCount in
        let result = Int(result)
        guard let source, let argument = BIO_get_callback_arg(source) else { return result }
        let handshake = UnsafeMutableRawPointer(argument)
        switch operation {
        case BIO_CB_READ:
            let mayRead = LoopActor.enter(with: handshake) {
                Unmanaged<Handshake>.fromOpaque($0).takeUnretainedValue().mayRead
            }
            guard !mayRead else { return result }
            // As if nothing more had come: the socket tells that there is more in the next turn.
            BIO_set_flags(source, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
            return -1
        case BIO_CB_READ | BIO_CB_RETURN where result > 0:
            let count = Int(byteCount?.pointee ?? 0)
            LoopActor.enter(with: handshake) {
                Unmanaged<Handshake>.fromOpaque($0).takeUnretainedValue().noteRead(count)
            }
            return result
        default: return result
        }
    }

    /// What the server has chosen of the protocols that were offered (RFC 7301); nil where it has
    /// not said.
    static func protocolName(of connection: OpaquePointer) -> String? {
        var name: UnsafePointer<UInt8>?
        var length: CUnsignedInt = 0
        SSL_get0_alpn_selected(connection, &name, &length)
        return name.map {
            String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self)
        }
    }

    /// Whether more has been read from a connection than was asked for.
    static func hasUnread(_ connection: OpaquePointer) -> Bool { SSL_has_pending(connection) == 1 }

    private static let index = copenssl_new_context_index { _, object, _, _, _, _ in
        // Of a context that is not ours it is null.
        guard let object else { return }
        Unmanaged<Handshake>.fromOpaque(object).release()
    }

    private static let verify: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> CInt = {
        context, object in
        guard let context, let object else { return 0 }
        // What is found wrong is told by the verification's result, not by OpenSSL's list of
        // errors.
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        let isAccepted = LoopActor.enter(with: (context, object)) { verification, handshake in
            Unmanaged<Handshake>.fromOpaque(handshake).takeUnretainedValue()
                .accepts(verification)
        }
        return isAccepted ? 1 : 0
    }

    /// 0 is no certificate, less than that ends the handshake.
    private static let identityWanted:
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>?,
            UnsafeMutablePointer<OpaquePointer?>?
        ) -> CInt = { connection, _, _ in
            guard let connection else { return -1 }
            let goesOn = LoopActor.enter(with: connection) { connection in
                handshake(of: connection)?.goesOnWithoutIdentity(connection) ?? false
            }
            return goesOn ? 0 : -1
        }

    private static let info: @convention(c) (OpaquePointer?, CInt, CInt) -> Void = {
        connection, place, value in
        guard let connection, copenssl_is_received_alert(place) != 0 else { return }
        LoopActor.enter(with: connection) { connection in
            handshake(of: connection)?.receive(alert: Int(copenssl_alert(value)))
        }
    }
}
