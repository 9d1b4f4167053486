internal import Engine
internal import HTTP
internal import Loop
internal import Semantics
internal import Syntax

/// How one node tells another for whom it asks: by a key that only nodes know, and beside it the
/// caller whom the first one has let in.
@LoopActor
struct NodePass {
    /// The value of Authorization, as nodes send it.
    let authorization: String
    private let digest: ([UInt8]) -> [UInt8]
    private let expected: [UInt8]

    /// - Parameters:
    ///   - key: what only nodes know.
    ///   - digest: makes what is compared, so that the time it takes tells nothing about the key.
    init(key: [UInt8], digest: @escaping ([UInt8]) -> [UInt8]) {
        authorization = "\(NodePass.scheme) \(Hex.text(of: key))"
        self.digest = digest
        expected = digest(Array(authorization.utf8))
    }

    private static let scheme = "Ferry-Node"

    /// Whether a request comes from a node, with the right key.
    func opens(_ request: Request) -> Bool {
        request.withHeaderBytes("authorization") { bytes in
            // Clients' own tokens are shorter than the key.
            guard let bytes, bytes.count == authorization.utf8.count else { return false }
            return isSame(digest(Array(bytes)))
        }
    }

    private func isSame(_ other: [UInt8]) -> Bool {
        guard other.count == expected.count else { return false }
        var difference: UInt8 = 0
        for index in expected.indices { difference |= expected[index] ^ other[index] }
        return difference == 0
    }

    /// What `Ferry-Caller` says of a caller:
    /// `tenant=2; scopes=tasks,events; token=tok_0fzk2m1c3d4n; peer=192.0.2.7`.
    ///
    /// - Parameters:
    ///   - principal: whom this node has let in.
    ///   - peer: the client's address.
    /// - Returns: the field's value.
    static func text(of principal: Principal, at peer: String) -> String {
        let scopes = Scope.allCases.filter(principal.scopes.contains).map(\.rawValue)
        let token = principal.token.map { "; token=\($0)" } ?? ""
        return "tenant=\(principal.tenant.rawValue); scopes=\(scopes.joined(separator: ","))"
            + "\(token); peer=\(peer)"
    }

    /// Reads what `text` writes, and nothing else.
    ///
    /// - Returns: the caller; nil for anything else.
    static func caller(parsing text: String) -> KnownCaller? {
        var members: [(name: Substring, value: Substring)] = []
        for part in text.split(separator: "; ", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return nil }
            members.append((pair[0], pair[1]))
        }
        let names = members.map(\.name)
        let known: [[Substring]] = [
            ["tenant", "scopes", "peer"], ["tenant", "scopes", "token", "peer"],
        ]
        guard known.contains(names), let number = Int64(members[0].value), number > 0
        else { return nil }
        var scopes: Set<Scope> = []
        for name in members[1].value.split(separator: ",") {
            guard let scope = Scope(rawValue: String(name)) else { return nil }
            scopes.insert(scope)
        }
        var token: TokenID?
        if members.count == 4 {
            token = TokenID(String(members[2].value))
            guard token != nil else { return nil }
        }
        let peer = String(members[members.count - 1].value)
        let principal = Principal(
            tenant: TenantID(rawValue: number), scopes: scopes, token: token)
        // What is not written so was not written by a node.
        guard !peer.isEmpty, NodePass.text(of: principal, at: peer) == text else { return nil }
        return KnownCaller(principal, passedOnFrom: peer)
    }
}
