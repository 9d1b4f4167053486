internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// A credential that is to be remembered (`CredentialEntry` of openapi.yaml), read but not judged.
struct StoredCredentialDraft {
    private let credential: CredentialDraft
    private let space: SpaceDraft
    /// Nil where the client does not say.
    let isDefault: Bool?

    init(_ reader: inout JSONReader) throws(JSONError) {
        var members = CredentialDraft.Members()
        var space: SpaceDraft?
        var isDefault: Bool?
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "protectionSpace": space = try SpaceDraft(&reader)
            case "isDefault": isDefault = try reader.bool()
            // What a server shows is trusted by the answer to its challenge only (S-75).
            case "serverTrust": throw reader.unknownMember(name)
            default:
                guard try members.read(name, &reader) else { throw reader.unknownMember(name) }
            }
        }
        guard let space else { throw reader.fail("is missing", at: "protectionSpace") }
        credential = try CredentialDraft(members, of: reader)
        guard credential.persistence != .some(.none) else {
            throw reader.fail("must be \"forSession\" or \"permanent\"", at: "persistence")
        }
        self.space = space
        self.isDefault = isDefault
    }

    /// The user name; nil for a certificate.
    var user: String? { credential.user }

    /// The credential and what it is for, checked member by member.
    ///
    /// - Parameters:
    ///   - session: who is to remember it.
    ///   - parse: the one parser of URLs.
    /// - Returns: what can be handed to the engine.
    /// - Throws: the 422 of the first member that is wrong.
    func checked(
        in session: SessionRecord, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> (ProtectionSpace, Credential) {
        let space = try space.space(at: "/protectionSpace", parse: parse)
        let credential = try credential.credential(
            for: space, in: session, persistence: .forSession, at: "")
        guard credential.answers(space.method) else {
            throw ProblemCode.credentialNotUsable.problem(
                "No credential of this kind answers the method.",
                at: "/protectionSpace/authenticationMethod")
        }
        return (space, credential)
    }
}

/// A protection space as a client names it (`CredentialSpace` of openapi.yaml), read but not
/// judged.
private struct SpaceDraft {
    private let host: String
    private let port: Int
    private let scheme: String
    private let realm: String?
    private let method: AuthenticationMethod
    private let isProxy: Bool

    init(_ reader: inout JSONReader) throws(JSONError) {
        var (host, scheme, method, realm): (String?, String?, String?, String?)
        var port: Int?
        var isProxy = false
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "host": host = try reader.string()
            case "port": port = try reader.port()
            case "protocol":
                let word = try reader.string()
                guard word == "http" || word == "https" else {
                    throw reader.fail("must be \"http\" or \"https\"")
                }
                scheme = word
            case "realm":
                realm = try reader.optionalString()
                guard realm?.utf8.count ?? 0 <= SpaceDraft.realmByteLimit else {
                    throw reader.fail("must not be longer than 1,024 bytes")
                }
            case "authenticationMethod": method = try reader.string()
            case "isProxy": isProxy = try reader.bool()
            default: throw reader.unknownMember(name)
            }
        }
        guard let host else { throw reader.fail("is missing", at: "host") }
        guard let scheme else { throw reader.fail("is missing", at: "protocol") }
        guard let method else { throw reader.fail("is missing", at: "authenticationMethod") }
        self.host = host
        self.scheme = scheme
        self.port = port ?? (scheme == "https" ? 443 : 80)
        self.realm = realm
        self.method = AuthenticationMethod(name: method)
        self.isProxy = isProxy
    }

    func space(
        at pointer: String, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> ProtectionSpace {
        let name = try HostName.parse(
            host, scheme: scheme, port: port, at: pointer + "/host", parse)
        return ProtectionSpace(
            host: name, port: port, scheme: scheme, realm: realm, method: method, isProxy: isProxy)
    }

    private static let realmByteLimit = 1024
}
