internal import COpenSSL
internal import Glibc

/// The files that a listener speaks TLS with.
public struct TLSFiles: Sendable, Equatable {
    /// The server's certificate and those that lead to its authority, in PEM.
    public let certificate: String
    /// Its private key, in PEM.
    public let key: String
    /// The authorities of clients, in PEM; nil lets everybody connect.
    public let clientAuthorities: String?

    /// Files by their paths.
    public init(certificate: String, key: String, clientAuthorities: String? = nil) {
        self.certificate = certificate
        self.key = key
        self.clientAuthorities = clientAuthorities
    }

    /// All paths.
    public var paths: [String] { [certificate, key] + (clientAuthorities.map { [$0] } ?? []) }
}

/// Everything that connections of a listener have in common: what is shown to clients, what is
/// agreed to, and the keys of its tickets.
public final class TLSContext: @unchecked Sendable {
    // Safe to share: OpenSSL counts its references atomically, and what changes later, the keys of
    // tickets, is changed by the one thread that makes connections of it.

    /// What the certificate says.
    public let certificate: CertificateFacts
    /// Whether clients have to show a certificate.
    public let asksForClientCertificates: Bool

    let raw: OpaquePointer
    /// The protocols above TLS, each behind its length (RFC 7301 §3.1), the best one first.
    fileprivate let protocols: [UInt8]

    /// Seconds in which a session can be taken up again.
    private static let sessionLifetime = 7200
    /// Bytes of the certificates that a client shows.
    private static let clientChainLimit = 32 << 10

    /// Reads the files and checks that they belong together. Blocks on the file system.
    ///
    /// A certificate that is not in force is taken: `certificate` tells.
    ///
    /// - Parameters:
    ///   - files: Where they are.
    ///   - protocols: What is spoken above TLS, the best one first, by the names of ALPN. A client
    ///     that asks for none gets what it likes, one that asks for others is refused.
    /// - Throws: `TLSFileError`.
    public init(_ files: TLSFiles, protocols: [String]) throws(TLSFileError) {
        let chain = try PEM.certificates(at: files.certificate)
        let key = try PEM.privateKey(at: files.key)
        let authorities: [Certificate]
        if let path = files.clientAuthorities {
            authorities = try PEM.certificates(at: path)
        } else {
            authorities = []
        }
        guard let raw = SSL_CTX_new(TLS_server_method()) else {
            throw .unusable("OpenSSL is not able to serve: \(OpenSSLWords.takeError()).")
        }
        self.raw = raw
        self.protocols = TLSParameters.list(of: protocols)
        certificate = CertificateFacts(chain[0], chain: Array(chain.dropFirst()))
        asksForClientCertificates = !authorities.isEmpty
        try use(chain, key, files)
        try trust(authorities)
        try agree()
    }

    deinit {
        SSL_CTX_free(raw)
    }

    /// Gives tickets a new key: what was encrypted with the old one opens no session any more, so
    /// that whoever gets hold of it reads little.
    ///
    /// - Precondition: On the thread that makes connections.
    public func renewTicketKey() {
        var bytes = [UInt8](repeating: 0, count: copenssl_ticket_key_size(raw))
        // Without new bytes the old ones are still secret.
        guard RAND_bytes(&bytes, CInt(bytes.count)) == 1 else { return ERR_clear_error() }
        _ = copenssl_set_ticket_keys(raw, &bytes, bytes.count)
    }

    private func use(
        _ chain: [Certificate], _ key: PrivateKey, _ files: TLSFiles
    ) throws(TLSFileError) {
        guard chain[0].belongs(to: key) else {
            if chain.dropFirst().contains(where: { $0.belongs(to: key) }) {
                throw .unusable(
                    """
                    The server's own certificate must be the first in \(files.certificate), \
                    with those of its authorities behind it.
                    """)
            }
            throw .unusable(
                "The key in \(files.key) is not that of the certificate in \(files.certificate).")
        }
        let others = copenssl_new_certificates()
        defer { copenssl_free_certificates(others) }
        for certificate in chain.dropFirst() {
            X509_up_ref(certificate.raw)
            guard copenssl_append_certificate(others, certificate.raw) == 1 else {
                X509_free(certificate.raw)
                throw .unusable("There is no memory for \(files.certificate).")
            }
        }
        ERR_clear_error()
        guard SSL_CTX_use_cert_and_key(raw, chain[0].raw, key.raw, others, 1) == 1 else {
            throw .unusable(
                """
                The certificate in \(files.certificate) cannot be used: \
                \(OpenSSLWords.takeError()).
                """)
        }
    }

    private func trust(_ authorities: [Certificate]) throws(TLSFileError) {
        guard !authorities.isEmpty else { return }
        let store = SSL_CTX_get_cert_store(raw)
        for authority in authorities {
            guard X509_STORE_add_cert(store, authority.raw) == 1,
                SSL_CTX_add_client_CA(raw, authority.raw) == 1
            else {
                throw .unusable(
                    "An authority of clients cannot be used: \(OpenSSLWords.takeError()).")
            }
        }
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        copenssl_limit_certificates(raw, TLSContext.clientChainLimit)
    }

    private func agree() throws(TLSFileError) {
        let name = Array("ferry".utf8)
        guard TLSParameters.agree(to: raw),
            SSL_CTX_set_session_id_context(raw, name, CUnsignedInt(name.count)) == 1
        else {
            throw .unusable("OpenSSL is not able to serve: \(OpenSSLWords.takeError()).")
        }
        // Sessions are in the tickets that clients keep, and cost nothing here.
        copenssl_keep_no_sessions(raw)
        SSL_CTX_set_timeout(raw, TLSContext.sessionLifetime)
        SSL_CTX_set_alpn_select_cb(
            raw, selectProtocol, Unmanaged.passUnretained(self).toOpaque())
    }
}

/// A door from OpenSSL: SSL_CTX_set_alpn_select_cb. Every connection keeps its `TLSContext` alive.
private let selectProtocol: SSL_CTX_alpn_select_cb_func = {
    _, selected, selectedCount, offered, offeredCount, context in
    guard let selected, let context else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let own = Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue().protocols
    // What is found lies in the client's list: that one is there for as long as OpenSSL reads it.
    var rest = UnsafeBufferPointer(start: offered, count: Int(offeredCount))[...]
    var names: [Slice<UnsafeBufferPointer<UInt8>>] = []
    while let count = rest.popFirst(), rest.count >= Int(count) {
        names.append(rest.prefix(Int(count)))
        rest = rest.dropFirst(Int(count))
    }
    var ours = own[...]
    while let count = ours.popFirst() {
        let name = ours.prefix(Int(count))
        ours = ours.dropFirst(Int(count))
        if let match = names.first(where: { $0.elementsEqual(name) }), !match.isEmpty {
            selected.pointee = offered.map { $0 + match.startIndex }
            selectedCount?.pointee = UInt8(match.count)
            return SSL_TLSEXT_ERR_OK
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
