public import JSON
internal import Syntax

/// An answer to a decision (api.md, Decisions). Holds secrets: it goes to the gateway and nowhere
/// else.
public struct DecisionReply: Equatable, Sendable {
    /// What `useCredential` comes with.
    public enum Credential: Equatable, Sendable {
        /// Go on without one.
        case none
        /// For Basic, Digest, NTLM.
        case password(user: String, password: String)
        /// A certificate, maybe with its chain, and its key, as PEM texts.
        case pem(certificate: String, key: String)
        /// The same as a PKCS #12 file (RFC 7292).
        case pkcs12([UInt8], passphrase: String)
        /// The server's leaf that is trusted, as `sha-256=:BASE64:`.
        case serverTrust(String)
    }

    /// The answer's word; the gateway judges it.
    public var disposition: String
    /// With `useCredential`; nil for every other word.
    public var credential: Credential?
    /// How long the gateway remembers the credential: `none`, `forSession`, `permanent` (S-67).
    public var persistence = "none"
    /// Another request, with `follow` and `useNewRequest`: the contract's request object.
    public var request: JSONValue?

    /// An answer of that word alone.
    public init(_ disposition: String) {
        self.disposition = disposition
    }

    /// `useCredential` with that credential, for this task only.
    public init(credential: Credential) {
        disposition = "useCredential"
        self.credential = credential
    }

    static let performDefaultHandling = DecisionReply("performDefaultHandling")
    static let rejectProtectionSpace = DecisionReply("rejectProtectionSpace")
    static let cancelChallenge = DecisionReply("cancelAuthenticationChallenge")

    /// The body of `POST /v1/decisions/{id}`.
    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("disposition", disposition)
            if let credential { write(credential, to: &json) }
            if let request { json.member("request", request) }
        }
        return json.finish()
    }

    private func write(_ credential: Credential, to json: inout JSONWriter) {
        if case .none = credential { return json.member("credential", JSONValue.null) }
        json.object("credential") { json in
            switch credential {
            case .none: break
            case .password(let user, let password):
                json.member("user", user)
                json.member("password", password)
            case .pem(let certificate, let key):
                json.object("certificate") { json in
                    json.member("pem", certificate)
                    json.member("key", key)
                }
            case .pkcs12(let bytes, let passphrase):
                json.object("certificate") { json in
                    json.member("pkcs12", Base64.standard.text(of: bytes))
                    json.member("passphrase", passphrase)
                }
            case .serverTrust(let fingerprint):
                // What is trusted is trusted for the session (S-75).
                return json.member("serverTrust", fingerprint)
            }
            json.member("persistence", persistence)
        }
    }
}
