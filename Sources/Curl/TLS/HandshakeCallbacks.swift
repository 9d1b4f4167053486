internal import COpenSSL
internal import Engine
internal import Loop

/// Every function that OpenSSL calls: each recovers the connection's `Handshake`, enters the loop's isolation, and answers.
///
/// OpenSSL is called by libcurl, and libcurl by the loop, so that all of them run on the loop's thread.
enum HandshakeCallbacks {
    /// Has a handshake hear of the connection that is made of this context, which holds it from here on.
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

    private static let index = copenssl_new_context_index { _, object, _, _, _, _ in
        // Of a context that is not ours it is null.
        guard let object else { return }
        Unmanaged<Handshake>.fromOpaque(object).release()
    }

    private static let verify: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> CInt = {
        context, object in
        guard let context, let object else { return 0 }
        // What is found wrong is told by the verification's result, not by OpenSSL's list of errors.
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
