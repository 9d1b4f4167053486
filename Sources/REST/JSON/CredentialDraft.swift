internal import HTTP
internal import JSON
internal import Semantics

/// A credential as a client gives it (`Credential` of openapi.yaml), read but not judged.
struct CredentialDraft {
    private let proof: Credential.Proof
    private let persistence: CredentialPersistence

    init(_ reader: inout JSONReader) throws(JSONError) {
        var user: String?
        var password: String?
        var identity: ClientIdentity?
        var leaf: [UInt8]?
        var persistence: CredentialPersistence?
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "user": user = try reader.string()
            case "password": password = try reader.string()
            case "certificate": identity = try ClientIdentity(json: &reader)
            case "serverTrust": leaf = try reader.leafFingerprint()
            case "persistence": persistence = try reader.choice()
            default: throw reader.unknownMember(name)
            }
        }
        let forms = [user != nil || password != nil, identity != nil, leaf != nil]
        guard forms.count(where: \.self) == 1 else {
            throw reader.fail("must have user and password, or certificate, or serverTrust")
        }
        if let identity {
            proof = .identity(identity)
        } else if let leaf {
            guard persistence == nil else {
                throw reader.fail("does not go with serverTrust", at: "persistence")
            }
            proof = .serverTrust(leaf: leaf)
        } else {
            guard let user else { throw reader.fail("is missing", at: "user") }
            guard let password else { throw reader.fail("is missing", at: "password") }
            proof = .password(user: user, password: password)
        }
        self.persistence = persistence ?? .none
    }

    /// The credential, checked member by member; whether it is one of the kind that is wanted is the engine's to say.
    ///
    /// - Parameters:
    ///   - space: what it is for.
    ///   - pointer: where the credential stands.
    /// - Returns: what can be handed to the engine.
    /// - Throws: the 422 of the member that is wrong or not supported yet.
    func credential(
        for space: ProtectionSpace?, at pointer: String
    ) throws(Problem) -> Credential {
        if case .password(let user, let password) = proof, let space {
            do throws(CredentialViolation) {
                try CredentialRules.check(user: user, password: password, for: space.method)
            } catch {
                throw ProblemCode.credentialNotUsable.problem(
                    error.sentence, at: "\(pointer)/\(error.subject.rawValue)")
            }
        }
        guard persistence != .permanent else {
            throw ProblemCode.notYetSupported.problem(
                "Credentials are not kept on disk yet: use \"forSession\".",
                at: pointer + "/persistence")
        }
        return Credential(proof, persistence: persistence)
    }
}

extension ClientIdentity {
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
