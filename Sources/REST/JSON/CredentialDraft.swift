internal import HTTP
internal import JSON
internal import Semantics

/// A credential as a client gives it (`Credential` of openapi.yaml), read but not judged.
struct CredentialDraft {
    private let proof: Credential.Proof
    /// Nil where the client names none.
    let persistence: CredentialPersistence?

    /// The members of a credential, as far as they have been read.
    struct Members {
        private var user: String?
        private var password: String?
        private var identity: ClientIdentity?
        private var leaf: [UInt8]?
        fileprivate var persistence: CredentialPersistence?

        /// Reads the member if it is one of a credential's, and answers whether it was.
        mutating func read(
            _ name: String, _ reader: inout JSONReader
        ) throws(JSONError) -> Bool {
            switch name {
            case "user": user = try reader.string()
            case "password": password = try reader.string()
            case "certificate": identity = try ClientIdentity(json: &reader)
            case "serverTrust": leaf = try reader.leafFingerprint()
            case "persistence": persistence = try reader.choice()
            default: return false
            }
            return true
        }

        /// What is proved by; the reader stands behind the object.
        fileprivate func proof(_ reader: JSONReader) throws(JSONError) -> Credential.Proof {
            let forms = [user != nil || password != nil, identity != nil, leaf != nil]
            guard forms.count(where: \.self) == 1 else {
                throw reader.fail("must have user and password, or certificate, or serverTrust")
            }
            if let identity { return .identity(identity) }
            if let leaf {
                guard persistence == nil else {
                    throw reader.fail("does not go with serverTrust", at: "persistence")
                }
                return .serverTrust(leaf: leaf)
            }
            guard let user else { throw reader.fail("is missing", at: "user") }
            guard let password else { throw reader.fail("is missing", at: "password") }
            return .password(user: user, password: password)
        }
    }

    /// Reads an object that is a credential.
    init(_ reader: inout JSONReader) throws(JSONError) {
        var members = Members()
        try reader.object { reader, name throws(JSONError) in
            guard try members.read(name, &reader) else { throw reader.unknownMember(name) }
        }
        try self.init(members, of: reader)
    }

    /// The credential of an object that the reader stands behind.
    init(_ members: Members, of reader: JSONReader) throws(JSONError) {
        proof = try members.proof(reader)
        persistence = members.persistence
    }

    /// The user name; nil for what has none.
    var user: String? {
        if case .password(let user, _) = proof { user } else { nil }
    }

    /// The credential, checked member by member; whether it is one of the kind that is wanted is
    /// the engine's to say.
    ///
    /// - Parameters:
    ///   - space: what it is for; nil for nothing that could be checked.
    ///   - session: who is to remember it.
    ///   - standard: the persistence where the client names none.
    ///   - pointer: where the credential stands.
    /// - Returns: what can be handed to the engine.
    /// - Throws: the 422 of the member that is wrong (X-7, S-67).
    func credential(
        for space: ProtectionSpace?, in session: SessionRecord,
        persistence standard: CredentialPersistence, at pointer: String
    ) throws(Problem) -> Credential {
        if case .password(let user, let password) = proof, let space {
            do throws(CredentialViolation) {
                try CredentialRules.check(user: user, password: password, for: space.method)
            } catch {
                throw ProblemCode.credentialNotUsable.problem(
                    error.sentence, at: "\(pointer)/\(error.subject.rawValue)")
            }
        }
        let persistence = persistence ?? standard
        guard persistence != .permanent || session.isPersistent else {
            throw ProblemCode.credentialNotUsable.problem(
                "The session leaves nothing on disk: use \"forSession\".",
                at: pointer + "/persistence")
        }
        return Credential(proof, persistence: persistence)
    }
}

extension ClientIdentity {
    /// A session remembers 1,000 credentials, and a key with a long chain takes some KiB.
    private static let byteLimit = 64 << 10

    /// Reads a certificate with its key; whether they can be used is the transport's to say.
    fileprivate init(json reader: inout JSONReader) throws(JSONError) {
        var (pem, key, passphrase): (String?, String?, String?)
        var pkcs12: [UInt8]?
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "pem": pem = try reader.string()
            case "key": key = try reader.string()
            case "pkcs12": pkcs12 = try reader.base64()
            case "passphrase": passphrase = try reader.string()
            default: throw reader.unknownMember(name)
            }
        }
        let byteCount =
            [pem, key, passphrase].reduce(pkcs12?.count ?? 0) { $0 + ($1?.utf8.count ?? 0) }
        guard byteCount <= ClientIdentity.byteLimit else {
            throw reader.fail("must not be longer than 65,536 bytes, all members together")
        }
        if let pkcs12 {
            guard pem == nil, key == nil else {
                throw reader.fail("must have either pem and key, or pkcs12")
            }
            self = .pkcs12(bytes: pkcs12, passphrase: passphrase ?? "")
        } else {
            guard passphrase == nil else { throw reader.fail("goes with pkcs12", at: "passphrase") }
            guard let pem else { throw reader.fail("is missing", at: "pem") }
            guard let key else { throw reader.fail("is missing", at: "key") }
            self = .pem(certificate: pem, key: key)
        }
    }
}

extension JSONReader {
    /// The SHA-256 of a certificate, written as a digest (RFC 9530): 32 bytes.
    fileprivate mutating func leafFingerprint() throws(JSONError) -> [UInt8] {
        let text = try string()
        do throws(ContentDigest.SyntaxError) {
            let digest = try ContentDigest(parsing: text)
            if digest.algorithm == .sha256 { return digest.bytes }
        } catch {}
        throw fail("must be like sha-256=:…:, the SHA-256 of the leaf")
    }
}
