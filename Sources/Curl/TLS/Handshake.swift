internal import COpenSSL
internal import Engine
internal import Loop
internal import Semantics

/// The TLS side of one connection: whom it trusts, what it presents, and what has come up.
///
/// Belongs to the connection's SSL_CTX, so that it is there also when the attempt that made the
/// connection has ended and others ride on it. Its functions are called by OpenSSL, from inside
/// libcurl.
@LoopActor
final class Handshake {
    private let host: String
    private let trust: TrustPolicy
    private let identity: IdentityPolicy

    /// What ended the handshake, if it needs an answer.
    private(set) var question: HandshakeQuestion?
    /// The verification that `question` stands on.
    private(set) var failures: [VerificationFailure] = []
    /// The SHA-256 of the server's certificate, once it was accepted by `TrustPolicy.known`.
    private var leaf: [UInt8]?
    /// Whether its chain verified, for this host; false also where nobody has looked.
    private var isVerified = false
    /// Whether the server wanted a certificate of the client.
    private(set) var isIdentityWanted = false
    /// The alert that the server has sent (RFC 8446 §6).
    private(set) var alert: Int?

    /// What is read of the connection in one turn of the loop. libcurl reads frames of HTTP/2 that
    /// bring nothing for as long as there are some, without a word to anybody.
    private static let bytesPerTurn = 256 << 10
    private var readInTurn = 0

    init(host: String, trust: TrustPolicy, identity: IdentityPolicy) {
        self.host = host
        self.trust = trust
        self.identity = identity
    }

    // MARK: For attempts

    /// Whether a request may go out on this connection, whoever has made it.
    func serves(_ request: AttemptRequest) -> Bool {
        guard identity.serves(request.identity) else { return false }
        if isIdentityWanted, request.identity == .ask { return false }
        guard case .known(let leaves) = request.trust else { return trust == .system }
        guard let leaf, let known = leaves.last(where: { $0.fingerprint == leaf }) else {
            return false
        }
        return isVerified || !known.mustVerify
    }

    /// What is wrong from the client's point of view, where a transfer has failed by the handshake;
    /// nil where libcurl's own words say it better.
    func error(at url: String) -> TransferError? {
        switch question {
        case .serverTrust:
            guard let first = failures.first else {
                return .url(
                    .secureConnectionFailed, at: url,
                    message: "Nobody has decided about the server's certificate.")
            }
            var circumstances = CurlCircumstances()
            circumstances.sslVerifyResult = first.code
            return CurlErrorTable.transferError(
                curlCode: 60, words: first.message, circumstances: circumstances, at: url)
        case .clientCertificate: return .url(.clientCertificateRequired, at: url)
        case nil: return alertError(at: url)
        }
    }

    /// RFC 8446 §6.2. Alerts about a certificate are about the client's: the server has no other
    /// one.
    private func alertError(at url: String) -> TransferError? {
        guard let alert else { return nil }
        let aboutCertificate = 42...46
        let unknownAuthority = 48
        let accessDenied = 49
        let certificateRequired = 116
        let handshakeFailure = 40
        var code: URLErrorCode?
        if alert == certificateRequired {
            code = .clientCertificateRequired
        } else if identity.isCertificate {
            let others = [unknownAuthority, accessDenied]
            let isRefusal = aboutCertificate.contains(alert) || others.contains(alert)
            code = isRefusal ? .clientCertificateRejected : nil
        } else if isIdentityWanted, alert == handshakeFailure || aboutCertificate.contains(alert) {
            // TLS 1.2 has no alert of its own for a certificate that is missing.
            code = .clientCertificateRequired
        }
        return code.map {
            .url(
                $0, at: url,
                underlying: .init(layer: .tls, code: alert, message: Self.words(ofAlert: alert)))
        }
    }

    private static func words(ofAlert alert: Int) -> String {
        "The server's alert: " + String(cString: SSL_alert_desc_string_long(CInt(alert))) + "."
    }

    // MARK: For OpenSSL

    /// Takes part in the connection that is made of this context; false without memory.
    func join(_ context: OpaquePointer) -> Bool {
        HandshakeCallbacks.install(self, in: context, judgesTrust: trust != .system)
    }

    /// SSL_CTX_set_cert_verify_callback: whether the server's certificate is accepted.
    func accepts(_ verification: OpaquePointer) -> Bool {
        guard case .known(let leaves) = trust,
            let certificate = X509_STORE_CTX_get0_cert(verification),
            let fingerprint = CertificateReader.fingerprint(of: certificate)
        else { return false }
        if let leaf {
            // A renegotiation: the request is under way, to this server and no other.
            return settle(verification, leaf == fingerprint ? nil : X509_V_ERR_CERT_REJECTED)
        }
        if let known = leaves.last(where: { $0.fingerprint == fingerprint }) {
            if known.mustVerify {
                failures = ChainVerification.failures(of: verification, host: host)
                isVerified = failures.isEmpty
            }
            if failures.isEmpty { leaf = fingerprint }
        } else {
            failures = ChainVerification.failures(of: verification, host: host)
            let chain = CertificateReader.chain(of: verification)
            guard !chain.isEmpty else { return settle(verification, X509_V_ERR_CERT_REJECTED) }
            question = .serverTrust(ServerTrust(chain: chain, failures: failures))
            if failures.isEmpty { return settle(verification, X509_V_ERR_CERT_REJECTED) }
        }
        return settle(verification, failures.first.map { CInt($0.code) })
    }

    /// Tells OpenSSL, and through it libcurl and the server, what has come of it.
    private func settle(_ verification: OpaquePointer, _ failure: CInt?) -> Bool {
        X509_STORE_CTX_set_error(verification, failure ?? X509_V_OK)
        return failure == nil
    }

    /// SSL_CTX_set_client_cert_cb: whether the handshake goes on without a certificate.
    ///
    /// In TLS 1.2 a server may ask in a renegotiation, in TLS 1.3 behind the handshake: then the
    /// request has been sent.
    func goesOnWithoutIdentity(_ connection: OpaquePointer) -> Bool {
        isIdentityWanted = true
        guard identity == .ask else { return true }
        question = .clientCertificate(
            distinguishedNames: CertificateReader.names(SSL_get0_peer_CA_list(connection)))
        return false
    }

    /// Whether more may be read in this turn of the loop.
    var mayRead: Bool { readInTurn < Self.bytesPerTurn }

    func noteRead(_ byteCount: Int) {
        if readInTurn == 0 { LoopActor.later { [self] in readInTurn = 0 } }
        readInTurn += byteCount
    }

    /// SSL_CTX_set_info_callback.
    func receive(alert: Int) {
        // RFC 8446 §6.1: the end of a connection is no failure.
        if alert != SSL3_AD_CLOSE_NOTIFY { self.alert = alert }
    }
}

extension IdentityPolicy {
    var isCertificate: Bool {
        if case .certificate = self { true } else { false }
    }

    /// Whether a connection that was made by this policy has what another one wants.
    fileprivate func serves(_ other: IdentityPolicy) -> Bool {
        isCertificate || other.isCertificate ? self == other : true
    }
}
