internal import Engine
internal import HTTP
internal import Loop
internal import Semantics
internal import Syntax

/// How one node tells another for whom it asks: beside the caller whom the first one has let in
/// stands a signature with a key that only nodes know. The key itself goes nowhere, and a signature
/// is good for one request to one node, until that one starts anew.
@LoopActor
struct NodePass {
    /// What goes with a request to a node, and what proves that its answer is the node's.
    struct Signature {
        /// The value of `Ferry-Node`: this node's number, which is another one once it has joined
        /// again.
        let sender: String
        /// The value of Authorization.
        let authorization: String
        /// The value of `Ferry-Proof` in the answer.
        let proof: String
    }

    private static let scheme = "Ferry-Node "
    private static let nonceLength = 16
    private static let codeLength = 32
    /// What codes are made of begins with it, so that none is taken for another one.
    private static let requestWords = "ferry request between nodes 1"
    private static let answerWords = "ferry answer between nodes 1"

    private let key: [UInt8]
    private let places: any TenantPlaces
    private let code: (_ bytes: [UInt8], _ key: [UInt8]) -> [UInt8]

    /// - Parameters:
    ///   - key: what only nodes know.
    ///   - places: knows this node's own record.
    ///   - code: HMAC-SHA256 of bytes with a key.
    init(
        key: [UInt8], places: any TenantPlaces,
        code: @escaping (_ bytes: [UInt8], _ key: [UInt8]) -> [UInt8]
    ) {
        self.key = key
        self.places = places
        self.code = code
    }

    /// Signs a request of this node.
    ///
    /// - Parameters:
    ///   - method: its method.
    ///   - target: its path and query, byte for byte as they are sent.
    ///   - caller: what its `Ferry-Caller` says.
    ///   - node: who is asked.
    /// - Returns: the signature, another one each time.
    func sign(
        _ method: String, _ target: String, _ caller: String, to node: NodeRecord
    ) -> Signature {
        var generator = SystemRandomNumberGenerator()
        let nonce = Hex.text(
            of: (0..<NodePass.nonceLength).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            })
        let sender = String(places.own.rawValue)
        let code = requestCode(nonce, method, target, from: sender, caller, to: node)
        return Signature(
            sender: sender, authorization: "\(NodePass.scheme)\(nonce).\(code)",
            proof: proof(nonce, of: node.id))
    }

    /// Whether a request comes from a node, and is for this one.
    func opens(_ request: Request) -> Bool { nonce(of: request) != nil }

    /// What proves to a node that this one answers.
    ///
    /// - Returns: the value of `Ferry-Proof`; nil for a request that is no node's.
    func proof(for request: Request) -> String? {
        nonce(of: request).map { proof($0, of: places.own) }
    }

    /// The nonce of a request with a right signature; nil for all others.
    private func nonce(of request: Request) -> String? {
        let (nonceDigits, codeDigits) = (NodePass.nonceLength * 2, NodePass.codeLength * 2)
        let scheme = NodePass.scheme.utf8
        let value = request.withHeaderBytes("authorization") { bytes -> [UInt8]? in
            guard let bytes, bytes.count == scheme.count + nonceDigits + 1 + codeDigits,
                bytes.starts(with: scheme)
            else { return nil }
            return Array(bytes.dropFirst(scheme.count))
        }
        guard let value, value[nonceDigits] == UInt8(ascii: "."),
            value[..<nonceDigits].allSatisfy({ Hex.value(of: $0) != nil }),
            // Others do not know this one before it knows itself.
            let own = places.view.nodes[places.own],
            let sender = request.header("ferry-node"), let caller = request.header("ferry-caller")
        else { return nil }
        let nonce = String(decoding: value[..<nonceDigits], as: UTF8.self)
        let target = request.path + (request.rawQuery.map { "?" + $0 } ?? "")
        let expected = requestCode(nonce, request.method, target, from: sender, caller, to: own)
        let isRight = NodePass.isSame(value[(nonceDigits + 1)...], Array(expected.utf8))
        return isRight ? nonce : nil
    }

    private func requestCode(
        _ nonce: String, _ method: String, _ target: String, from sender: String, _ caller: String,
        to node: NodeRecord
    ) -> String {
        text([
            NodePass.requestWords, nonce, method, target, sender, String(node.id.rawValue),
            String(node.joinedAt.milliseconds), caller,
        ])
    }

    private func proof(_ nonce: String, of node: NodeID) -> String {
        text([NodePass.answerWords, nonce, String(node.rawValue)])
    }

    /// The code of parts of which none has a line's end.
    private func text(_ parts: [String]) -> String {
        Hex.text(of: code(Array(parts.joined(separator: "\n").utf8), key))
    }

    /// Compares in a time that depends on the lengths only.
    private static func isSame(_ first: ArraySlice<UInt8>, _ second: [UInt8]) -> Bool {
        guard first.count == second.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(first, second) { difference |= one ^ other }
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
