import Testing

import Semantics

private func place(_ host: String, port: Int = 443, path: String = "/") -> WebURL {
    WebURL(string: "-", scheme: "https", host: host, port: port, path: path)
}

private func origin(_ host: String, port: Int = 443) -> WebURL.Origin {
    place(host, port: port).origin
}

private let here = origin("a.example")
private let basic = ProtectionSpace(here, realm: "r", method: .basic)
private let digest = ProtectionSpace(here, realm: "r", method: .digest)
private let password = AuthenticationRound.Use.password(user: "u", password: "p")

struct AuthenticationRoundTests {
    private typealias Refusal = AuthenticationRound.Refusal

    @Test func `a first question is no refusal`() {
        var round = AuthenticationRound()
        #expect(round.refused(by: here, offering: [digest, basic]) == nil)
        #expect(round.failures.isEmpty)
        #expect(round.origin == here)
    }

    @Test func `S-65: each credential that is refused counts, and is presented no more`() {
        var round = AuthenticationRound()
        _ = round.refused(by: here, offering: [digest, basic])
        for count in 1...3 {
            round.present(password, in: basic)
            #expect(round.use == password)
            #expect(round.space == basic)
            #expect(
                round.refused(by: here, offering: [digest, basic])
                    == .ofCredential(password, basic, isCertain: true))
            #expect(round.failureCount(in: basic) == count)
            #expect(round.failureCount(in: digest) == 0, "each space for itself")
            #expect(round.use == nil)
            #expect(round.space == nil)
            #expect(
                round.refused(by: here, offering: [basic]) == nil,
                "a question without an answer in between")
            #expect(round.failureCount(in: basic) == count)
        }
    }

    @Test func `S-66: what was rejected stays rejected, whatever becomes of another space`() {
        var round = AuthenticationRound()
        _ = round.refused(by: here, offering: [digest, basic])
        let offered = [digest, basic]
        #expect(round.remaining(of: offered) == offered)
        round.reject(digest)
        #expect(round.remaining(of: offered) == [basic])
        _ = round.refused(by: here, offering: offered)
        #expect(round.remaining(of: offered) == [basic], "the same question again")
        round.present(password, in: basic)
        #expect(round.remaining(of: offered) == [basic])
        _ = round.refused(by: here, offering: offered)
        #expect(round.remaining(of: offered) == [basic], "the other one is refused")
        round.reject(basic)
        #expect(round.remaining(of: offered).isEmpty)
    }

    @Test func `S-66: another realm, and the proxy's space, are not what was rejected`() {
        var round = AuthenticationRound()
        round.reject(basic)
        var proxied = basic
        proxied.isProxy = true
        let other = ProtectionSpace(here, realm: "s", method: .basic)
        #expect(round.remaining(of: [basic, other, proxied]) == [other, proxied])
    }

    @Test func `what is remembered of spaces has an end`() {
        var round = AuthenticationRound()
        for number in 0..<200 {
            let space = ProtectionSpace(here, realm: "\(number)", method: .basic)
            round.reject(space)
            round.reject(space)
            _ = round.refused(by: here, offering: [])
            round.present(password, in: space)
            _ = round.refused(by: here, offering: [space])
        }
        #expect(round.rejected.count == 64 && round.failures.count == 64)
    }

    @Test func `S-65: a space that is not offered again has refused nothing`() {
        var round = AuthenticationRound()
        _ = round.refused(by: here, offering: [basic])
        round.present(password, in: basic)
        let other = ProtectionSpace(here, realm: "s", method: .basic)
        #expect(round.refused(by: here, offering: [other]) == .elsewhere(basic))
        #expect(round.failures.isEmpty && round.use == nil)
    }

    @Test(arguments: [origin("b.example"), origin("a.example", port: 8443)])
    func `S-69: another origin that asks begins from nothing`(there: WebURL.Origin) {
        var round = AuthenticationRound()
        _ = round.refused(by: here, offering: [digest, basic])
        round.present(password, in: basic)
        _ = round.refused(by: here, offering: [digest, basic])
        round.present(password, in: basic)
        round.reject(digest)
        #expect(round.refused(by: there, offering: [basic]) == nil)
        var expected = AuthenticationRound()
        expected.origin = there
        #expect(round == expected)
    }

    // MARK: Digest

    private func offer(_ nonce: String, isStale: Bool = false) -> DigestOffer? {
        DigestOffer(
            in: ["Digest realm=r, nonce=\(nonce)" + (isStale ? ", stale=true" : "")], for: digest)
    }

    private func refuse(_ round: inout AuthenticationRound, _ offer: DigestOffer?) -> Refusal? {
        round.refused(by: here, offering: [digest]) { _ in offer }
    }

    @Test func `RFC 7616 §3.3: a stale nonce is no failure, three times in a row`() {
        var round = AuthenticationRound()
        round.origin = here
        round.present(password, in: digest, digest: offer("0")?.challenge)
        for number in 1...3 {
            #expect(refuse(&round, offer("\(number)", isStale: true)) == .ofNonce)
            #expect(round.use == password && round.digest?.nonce == "\(number)")
        }
        #expect(round.isWornOut)
        #expect(
            refuse(&round, offer("4", isStale: true))
                == .ofCredential(password, digest, isCertain: false))
        #expect(round.failureCount(in: digest) == 1)
        round.present(password, in: digest, digest: offer("4")?.challenge)
        round.accepted(nextNonce: nil)
        #expect(!round.isWornOut)
    }

    @Test func `a nonce that is stale and stays is a refusal, but not of the password`() {
        var round = AuthenticationRound()
        round.origin = here
        round.present(password, in: digest, digest: offer("0")?.challenge)
        #expect(
            refuse(&round, offer("0", isStale: true))
                == .ofCredential(password, digest, isCertain: false))
    }

    @Test func `what was not sent, for want of a nonce, is not refused`() {
        var round = AuthenticationRound()
        round.origin = here
        round.present(password, in: digest)
        #expect(refuse(&round, offer("1")) == .ofNonce)
        #expect(round.digest?.nonce == "1" && round.staleCount == 0)
        #expect(refuse(&round, offer("2")) == .ofCredential(password, digest, isCertain: true))
    }

    @Test func `S-83: a proof of an old nonce leaves it open whether the password is wrong`() {
        var round = AuthenticationRound()
        round.origin = here
        for (isUnasked, nonce, isCertain) in [
            (true, "1", false), (true, "0", true), (false, "1", true),
        ] {
            round.present(
                password, in: digest, digest: offer("0")?.challenge, isUnasked: isUnasked)
            #expect(
                refuse(&round, offer(nonce))
                    == .ofCredential(password, digest, isCertain: isCertain))
        }
        // Once it was made with a new one, it is certain.
        round.present(password, in: digest, digest: offer("0")?.challenge, isUnasked: true)
        #expect(refuse(&round, offer("1", isStale: true)) == .ofNonce)
        #expect(refuse(&round, offer("2")) == .ofCredential(password, digest, isCertain: true))
    }

    @Test func `RFC 7616 §3.5: the next nonce takes the place of this one`() {
        var round = AuthenticationRound()
        round.present(password, in: digest, digest: offer("0")?.challenge)
        round.accepted(nextNonce: nil)
        #expect(round.digest?.nonce == "0")
        round.accepted(nextNonce: "x")
        #expect(round.digest?.nonce == "x" && round.digest?.realm == "r")
    }
}

struct TaskAuthenticationTests {
    private func answered(by place: WebURL.Origin) -> TaskAuthentication {
        var authentication = TaskAuthentication()
        _ = authentication.server.refused(by: place, offering: [])
        authentication.server.present(password, in: ProtectionSpace(place, method: .basic))
        authentication.identity = .certificate(.pem(certificate: "c", key: "k"))
        authentication.identityOrigin = place
        let proxy = ProxyAddress(host: "proxy", port: 3128).origin
        _ = authentication.proxy.refused(by: proxy, offering: [])
        authentication.proxy.present(password, in: ProtectionSpace(proxy, method: .basic))
        return authentication
    }

    @Test func `a move within an origin keeps everything`() {
        var authentication = answered(by: here)
        authentication.move(to: place("a.example", path: "/elsewhere"))
        #expect(authentication == answered(by: here))
    }

    @Test func `S-83: a move out of its scope leaves a credential behind, not what was rejected`() {
        var authentication = answered(by: here)
        authentication.server.reject(digest)
        authentication.server.present(
            password, in: basic, scope: ProtectionScope(basicAt: "/docs/x"))
        authentication.move(to: place("a.example", path: "/docs/y"))
        #expect(authentication.server.use == password)
        authentication.move(to: place("a.example", path: "/other/y"))
        #expect(authentication.server.use == nil && authentication.server.space == nil)
        #expect(authentication.server.rejected == [digest])
        #expect(authentication.proxy == answered(by: here).proxy)
        authentication.move(to: place("a.example", path: "/docs/y"))
        #expect(authentication.server.use == nil, "the way back brings nothing back")
    }

    @Test(arguments: [
        place("b.example"), place("a.example", port: 8443),
        WebURL(string: "-", scheme: "http", host: "a.example", port: 443, path: "/"),
    ])
    func `S-69: a move to another origin keeps nothing but what the proxy was told`(
        there: WebURL
    ) {
        var authentication = answered(by: here)
        authentication.move(to: there)
        var expected = TaskAuthentication()
        expected.proxy = answered(by: here).proxy
        #expect(authentication == expected)
        authentication.move(to: place("a.example"))
        #expect(authentication == expected, "the way back brings nothing back")
    }

    @Test func `S-69: password and certificate are each judged by their own origin`() {
        let there = place("b.example")
        var authentication = answered(by: here)
        authentication.identityOrigin = there.origin
        authentication.identity = .without
        authentication.move(to: there)
        #expect(authentication.server == AuthenticationRound())
        #expect(authentication.identity == .without)
        authentication.move(to: place("a.example"))
        #expect(authentication.identity == .undecided)
        #expect(authentication.identityOrigin == nil)
    }
}
