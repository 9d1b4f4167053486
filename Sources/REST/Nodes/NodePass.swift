internal import Engine
internal import HTTP
internal import Loop
internal import Semantics
internal import Syntax

/// How one node tells another for whom it asks: beside the caller whom the first one has let in
/// stands a signature with a key that only nodes know. The key itself goes nowhere. A signature
/// says who asks whom, for whom and for what, and is good until the other node joins anew; it
/// covers neither a body nor an answer.
@LoopActor
final class NodePass {
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

    static let scheme = "Ferry-Node "
    /// Digits of a nonce.
    private static let nonceLength = 32
    /// Digits of a code.
    private static let codeLength = 64
    /// What codes are made of begins with it, so that none is taken for another one. The number is
    /// that of the protocol between nodes: one of another number knows nobody here, and is answered
    /// 401 without a proof. Fields that are new need no new number: who does not know them passes
    /// over them.
    private static let requestWords = "ferry request between nodes 1"
    private static let answerWords = "ferry answer between nodes 1"
    /// How many callers are remembered.
    private static let callerLimit = 1000

    private let places: any TenantPlaces
    private let code: @Sendable (_ bytes: [UInt8]) -> [UInt8]
    /// The next nonce: another one each time, whoever may guess it.
    private var nonce = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    /// The request that was looked at last, and its nonce if it was a node's.
    private var seen: (request: UInt64, nonce: [UInt8]?)?
    /// What was read of callers.
    private var callers: [String: (principal: Principal, peer: String)] = [:]

    /// - Parameters:
    ///   - places: knows this node's own record.
    ///   - code: HMAC-SHA256 of bytes, with a key that only nodes know.
    init(places: any TenantPlaces, code: @escaping @Sendable (_ bytes: [UInt8]) -> [UInt8]) {
        self.places = places
        self.code = code
    }

    /// Signs a request of this node.
    ///
    /// - Parameters:
    ///   - request: what has come, and is passed on with the same method and target.
    ///   - caller: what its `ferry-caller` says.
    ///   - node: who is asked.
    /// - Returns: the signature, another one each time.
    func sign(_ request: Request, _ caller: String, to node: NodeRecord) -> Signature {
        nonce.1 &+= 1
        let text = Hex.text(
            of: withUnsafeBytes(of: (nonce.0.bigEndian, nonce.1.bigEndian)) { Array($0) })
        let nonce = Array(text.utf8)
        let sender = String(places.own.rawValue)
        let code = requestCode(nonce, request, from: sender, caller, to: node)
        return Signature(
            sender: sender, authorization: "\(NodePass.scheme)\(text).\(code)",
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
    private func nonce(of request: Request) -> [UInt8]? {
        if let seen, seen.request == request.number { return seen.nonce }
        guard let (nonce, code) = NodePass.parts(of: request) else { return nil }
        // Others do not know this one before it knows itself.
        guard let own = places.view.nodes[places.own],
            let sender = request.header("ferry-node"), let caller = request.header("ferry-caller")
        else { return nil }
        let expected = requestCode(nonce, request, from: sender, caller, to: own)
        let isRight = NodePass.isSame(code, expected)
        seen = (request.number, isRight ? nonce : nil)
        return isRight ? nonce : nil
    }

    /// The nonce and the code that a request has; nil for one that has none.
    private static func parts(
        of request: Request
    ) -> (nonce: [UInt8], code: ArraySlice<UInt8>)? {
        let value = request.withHeaderBytes("authorization") { bytes -> [UInt8]? in
            guard let bytes, bytes.count == scheme.utf8.count + nonceLength + 1 + codeLength,
                bytes.starts(with: scheme.utf8)
            else { return nil }
            return Array(bytes.dropFirst(scheme.utf8.count))
        }
        guard let value, value[nonceLength] == UInt8(ascii: "."),
            value.withUnsafeBytes({ $0[..<nonceLength].allSatisfy { Hex.value(of: $0) != nil } })
        else { return nil }
        return (Array(value[..<nonceLength]), value[(nonceLength + 1)...])
    }

    private func requestCode(
        _ nonce: [UInt8], _ request: Request, from sender: String, _ caller: String,
        to node: NodeRecord
    ) -> String {
        text(room: 512) { bytes in
            bytes += NodePass.requestWords.utf8
            bytes.append(Octets.lineFeed)
            bytes += nonce
            bytes.append(Octets.lineFeed)
            request.withMethod { bytes.append(contentsOf: $0) }
            bytes.append(Octets.lineFeed)
            request.withTarget { bytes.append(contentsOf: $0) }
            let (id, joinedAt) = (String(node.id.rawValue), String(node.joinedAt.milliseconds))
            for var part in [sender, id, joinedAt, caller] {
                bytes.append(Octets.lineFeed)
                part.withUTF8 { bytes.append(contentsOf: $0) }
            }
        }
    }

    private func proof(_ nonce: [UInt8], of node: NodeID) -> String {
        text(room: 96) { bytes in
            bytes += NodePass.answerWords.utf8
            bytes.append(Octets.lineFeed)
            bytes += nonce
            bytes.append(Octets.lineFeed)
            bytes += String(node.rawValue).utf8
        }
    }

    /// The code of parts of which none has a line's end.
    private func text(room: Int, _ write: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(room)
        write(&bytes)
        return Hex.text(of: code(bytes))
    }

    private static func isSame(_ first: ArraySlice<UInt8>, _ second: String) -> Bool {
        var second = second
        return first.withUnsafeBytes { first in
            second.withUTF8 { SecretBytes.areSame(first, UnsafeRawBufferPointer($0)) }
        }
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
    func caller(parsing text: String) -> KnownCaller? {
        if callers[text] == nil {
            guard let read = NodePass.read(text) else { return nil }
            if callers.count >= NodePass.callerLimit { callers = [:] }
            callers[text] = read
        }
        return callers[text].map { KnownCaller($0.principal, passedOnFrom: $0.peer) }
    }

    private static func read(_ text: String) -> (principal: Principal, peer: String)? {
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
        return (principal, peer)
    }
}
