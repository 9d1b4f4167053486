import Sealing
import Semantics
import Synchronization
import TestSupport

/// A server's side of Digest (RFC 7616) that takes each count of a nonce once, and knows one user.
final class DigestGuard: Sendable {
    private struct State {
        var nonce = 0
        var counts: Set<String> = []
        var badProofs: [String] = []
    }

    private let algorithm: DigestProof.Algorithm
    private let password: String
    private let isAlwaysStale: Bool
    private let state = Mutex(State())

    init(
        _ algorithm: DigestProof.Algorithm = .md5, password: String = "open sesame",
        isAlwaysStale: Bool = false
    ) {
        self.algorithm = algorithm
        self.password = password
        self.isAlwaysStale = isAlwaysStale
    }

    /// Proofs that were wrong, or came twice.
    var badProofs: [String] { state.withLock(\.badProofs) }

    /// The nonce is over: who uses it is told that it is stale.
    func changeNonce() { state.withLock { $0.nonce += 1 } }

    /// 200 with the body that came, for who proves to be aladdin.
    var behaviour: Behaviour {
        Behaviour { [self] exchange in
            let body = try exchange.readWholeBody()
            if isAlwaysStale { changeNonce() }
            let isStale: Bool
            switch judge(exchange.request) {
            case .right: return try exchange.answer(200, [:], String(decoding: body, as: UTF8.self))
            case .stale: isStale = true
            case .wrong: isStale = false
            }
            let nonce = state.withLock(\.nonce)
            let challenge =
                "Digest realm=\"the \\\"cave\\\"\", nonce=\"n,\(nonce)\", qop=\"auth\", opaque=\"o\","
                + " algorithm=\(algorithm.rawValue)" + (isStale ? ", stale=true" : "")
            try exchange.answer(401, ["WWW-Authenticate": challenge], "who are you?")
        }
    }

    private enum Verdict { case right, stale, wrong }

    private func judge(_ request: RecordedRequest) -> Verdict {
        guard let text = request.headers["Authorization"] else { return .wrong }
        let fields = Self.fields(of: text)
        return state.withLock { state in
            guard fields["nonce"] == "n,\(state.nonce)" else { return .stale }
            let count = fields["nonce", default: ""] + " " + fields["nc", default: ""]
            var secret = hash("aladdin", #"the "cave""#, password)
            if algorithm.isOfSession {
                secret = hash(secret, fields["nonce"], fields["cnonce"])
            }
            let right = hash(
                secret, fields["nonce"], fields["nc"], fields["cnonce"], "auth",
                hash(request.method, request.target))
            guard fields["response"] == right, fields["uri"] == request.target,
                fields["username"] == "aladdin", fields["opaque"] == "o",
                state.counts.insert(count).inserted
            else {
                state.badProofs.append(text)
                return .wrong
            }
            return .right
        }
    }

    private func hash(_ parts: String?...) -> String {
        let text = parts.map { $0 ?? "" }.joined(separator: ":")
        return SHADigests().hash(Array(text.utf8), by: algorithm.hash)
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The parameters, of values without escapes.
    static func fields(of proof: String) -> [String: String] {
        let pairs = proof.dropFirst("Digest ".count).split(separator: ", ").map { part in
            part.split(separator: "=", maxSplits: 1).map(String.init)
        }
        return Dictionary(
            pairs.filter { $0.count == 2 }.map { ($0[0], $0[1].filter { $0 != "\"" }) },
            uniquingKeysWith: { first, _ in first })
    }
}
