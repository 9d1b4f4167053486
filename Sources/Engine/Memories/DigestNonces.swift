internal import Loop
internal import Semantics

/// The nonces that a session proves passwords with, and how often it has (RFC 7616 §3.4): its tasks
/// count together, since a server takes each count once.
@LoopActor
final class DigestNonces {
    /// The most nonces that are remembered; beyond it the oldest are forgotten, and would be stale.
    private static let limit = 1_000

    private struct Name: Hashable {
        let origin: WebURL.Origin
        let isProxy: Bool
        let nonce: String
    }

    private struct Use {
        var count: UInt32 = 0
        /// One for all proofs of an algorithm that hashes it with the user: servers may keep that
        /// hash.
        let clientNonce = DigestNonces.makeClientNonce()
        /// What has taken the nonce's place.
        var successor: DigestChallenge?
    }

    private let digests: any Digests
    private var uses: [Name: Use] = [:]
    private var names: [Name] = []

    init(_ digests: any Digests) { self.digests = digests }

    /// The field's value for one request, which no other one has.
    func proof(
        of user: String, _ password: String, answering challenge: DigestChallenge,
        by asker: WebURL.Origin, isProxy: Bool, method: String, uri: String
    ) -> String {
        let challenge = newest(challenge, asker, isProxy)
        let name = Name(origin: asker, isProxy: isProxy, nonce: challenge.nonce)
        var use = use(of: name)
        use.count &+= 1
        uses[name] = use
        let proof = DigestProof(
            method: method, uri: uri, count: use.count,
            clientNonce: challenge.algorithm.isOfSession
                ? use.clientNonce : DigestNonces.makeClientNonce())
        return proof.value(answering: challenge, user: user, password: password) {
            digests.hash($1, by: $0)
        }
    }

    /// What is proved from now on in place of a challenge whose nonce is too old.
    func replace(
        _ old: DigestChallenge, by new: DigestChallenge, of asker: WebURL.Origin, isProxy: Bool
    ) {
        let newest = newest(old, asker, isProxy)
        guard newest.nonce != new.nonce else { return }
        let pair = [newest, new].map { Name(origin: asker, isProxy: isProxy, nonce: $0.nonce) }
        // Both come last, so that neither is forgotten for the other.
        names.removeAll(where: pair.contains)
        for name in pair {
            var use = uses[name] ?? Use()
            use.successor = name == pair[0] ? new : nil  // so that no way leads in a circle
            uses[name] = use
            remember(name)
        }
    }

    private func newest(
        _ challenge: DigestChallenge, _ asker: WebURL.Origin, _ isProxy: Bool
    ) -> DigestChallenge {
        var newest = challenge
        while let next = uses[Name(origin: asker, isProxy: isProxy, nonce: newest.nonce)]?.successor
        {
            newest = next
        }
        return newest
    }

    private func use(of name: Name) -> Use {
        if let use = uses[name] { return use }
        remember(name)
        return Use()
    }

    private func remember(_ name: Name) {
        if names.count == DigestNonces.limit { uses[names.removeFirst()] = nil }
        names.append(name)
    }

    private nonisolated static func makeClientNonce() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 36)
        return digits + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}
