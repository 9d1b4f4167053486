internal import COpenSSL

/// Everything that connections to servers have in common: who is trusted, and what is agreed to.
/// Servers are verified, and so is the name or the address that they are reached by.
public final class TLSClientContext: @unchecked Sendable {
    // Safe to share: OpenSSL counts its references atomically, and nothing changes later.

    let raw: OpaquePointer

    /// Reads the authorities. Blocks on the file system.
    ///
    /// - Parameters:
    ///   - path: of a file of PEM certificates that are trusted; nil trusts the system's.
    ///   - protocols: what is spoken above TLS, the best one first, by the names of ALPN.
    /// - Throws: `TLSFileError`.
    public init(trusting path: String?, protocols: [String]) throws(TLSFileError) {
        ERR_clear_error()
        guard let raw = SSL_CTX_new(TLS_client_method()) else {
            throw .unusable("OpenSSL is not able to connect: \(OpenSSLWords.takeError()).")
        }
        self.raw = raw
        let offered = TLSParameters.list(of: protocols)
        // That one returns 0 where it succeeds.
        guard TLSParameters.agree(to: raw),
            SSL_CTX_set_alpn_protos(raw, offered, CUnsignedInt(offered.count)) == 0
        else {
            throw .unusable("OpenSSL is not able to connect: \(OpenSSLWords.takeError()).")
        }
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
        let isLoaded =
            if let path {
                SSL_CTX_load_verify_file(raw, path)
            } else {
                SSL_CTX_set_default_verify_paths(raw)
            }
        guard isLoaded == 1 else {
            let place = path ?? "the system"
            throw .unusable(
                "The authorities of \(place) cannot be read: \(OpenSSLWords.takeError()).")
        }
    }

    deinit {
        SSL_CTX_free(raw)
    }
}
