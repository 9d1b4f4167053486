import Loop
import Semantics
import Testing

@testable import Engine

/// Which nonces a session still counts (RFC 7616 §3.4).
@Suite(.onLoop)
struct DigestNoncesTests {
    private static let origin = WebURL(
        string: "http://origin.test/", scheme: "http", host: "origin.test", port: 80, path: "/",
        query: nil
    ).origin

    private static func challenge(_ nonce: String) -> DigestChallenge {
        DigestChallenge(realm: "r", nonce: nonce, countsRequests: true)
    }

    /// The nonce, and its count, with which a challenge is answered.
    @LoopActor
    private static func answer(_ nonces: DigestNonces, to nonce: String) -> [String] {
        let proof = nonces.proof(
            of: "alice", "secret", answering: challenge(nonce), by: origin, isProxy: false,
            method: "GET", uri: "/")
        return proof.split(separator: " ").map { $0.filter { $0 != "," && $0 != "\"" } }
            .filter { $0.hasPrefix("nonce=") || $0.hasPrefix("nc=") }
    }

    @Test @LoopActor
    func `the oldest of too many that is replaced leads on, and is forgotten in its turn`() {
        let nonces = DigestNonces(SumDigests())
        for number in 0..<1000 { _ = Self.answer(nonces, to: "n\(number)") }
        nonces.replace(
            Self.challenge("n0"), by: Self.challenge("new"), of: Self.origin, isProxy: false)
        #expect(Self.answer(nonces, to: "n0").contains("nonce=new"))
        // One had to go, and that was the next oldest.
        #expect(Self.answer(nonces, to: "n2").contains("nc=00000002"))
        for number in 1000..<2000 { _ = Self.answer(nonces, to: "n\(number)") }
        #expect(Self.answer(nonces, to: "n0").contains("nonce=n0"))
    }
}
