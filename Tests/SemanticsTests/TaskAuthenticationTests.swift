import Testing

import Semantics

private func origin(_ host: String, port: Int = 443) -> WebURL.Origin {
    WebURL(string: "-", scheme: "https", host: host, port: port, path: "/").origin
}

private let here = origin("a.example")
private let basic = ProtectionSpace(here, realm: "r", method: .basic)
private let digest = ProtectionSpace(here, realm: "r", method: .digest)
private let password = AuthenticationRound.Use.password(user: "u", password: "p")

struct AuthenticationRoundTests {
    @Test func `a first question is no refusal`() {
        var round = AuthenticationRound()
        #expect(round.refused(by: here, offering: [digest, basic]) == nil)
        #expect(round.failureCount == 0)
        #expect(round.origin == here)
    }

    @Test func `S-65: each credential that is refused counts, and is presented no more`() {
        var round = AuthenticationRound()
        _ = round.refused(by: here, offering: [digest, basic])
        for count in 1...3 {
            round.present(password, in: basic)
            #expect(round.use == password)
            #expect(round.space == basic)
            let refused = round.refused(by: here, offering: [digest, basic])
            #expect(refused?.use == password && refused?.space == basic)
            #expect(round.failureCount == count)
            #expect(round.use == nil)
            #expect(round.space == nil)
            #expect(
                round.refused(by: here, offering: [basic]) == nil,
                "a question without an answer in between")
            #expect(round.failureCount == count)
        }
    }

    @Test func `S-66: what was rejected is not offered again, until a credential is presented`() {
        var round = AuthenticationRound()
        _ = round.refused(by: here, offering: [digest, basic])
        let offered = [digest, basic]
        #expect(round.remaining(of: offered) == offered)
        round.rejected.append(digest)
        #expect(round.remaining(of: offered) == [basic])
        _ = round.refused(by: here, offering: [digest, basic])
        #expect(round.remaining(of: offered) == [basic], "the same question again")
        round.rejected.append(basic)
        #expect(round.remaining(of: offered).isEmpty)
        round.present(password, in: basic)
        #expect(round.remaining(of: offered) == offered)
        round.rejected = [basic]
        _ = round.refused(by: here, offering: [digest, basic])
        #expect(round.remaining(of: offered) == offered, "what was presented is refused")
    }

    @Test func `S-66: another realm, and the proxy's space, are not what was rejected`() {
        var round = AuthenticationRound()
        round.rejected = [basic]
        var proxied = basic
        proxied.isProxy = true
        let other = ProtectionSpace(here, realm: "s", method: .basic)
        #expect(round.remaining(of: [basic, other, proxied]) == [other, proxied])
    }

    @Test func `S-65: a space that is not offered again has refused nothing`() {
        var round = AuthenticationRound()
        _ = round.refused(by: here, offering: [basic])
        round.present(password, in: basic)
        _ = round.refused(by: here, offering: [basic])
        round.present(password, in: basic)
        let other = ProtectionSpace(here, realm: "s", method: .basic)
        #expect(round.refused(by: here, offering: [other]) == nil)
        #expect(round.failureCount == 0 && round.use == nil)
    }

    @Test(arguments: [origin("b.example"), origin("a.example", port: 8443)])
    func `S-69: another origin that asks begins from nothing`(there: WebURL.Origin) {
        var round = AuthenticationRound()
        _ = round.refused(by: here, offering: [digest, basic])
        round.present(password, in: basic)
        _ = round.refused(by: here, offering: [digest, basic])
        round.present(password, in: basic)
        round.rejected = [digest]
        #expect(round.refused(by: there, offering: [basic]) == nil)
        var expected = AuthenticationRound()
        expected.origin = there
        #expect(round == expected)
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
        authentication.move(to: here)
        #expect(authentication == answered(by: here))
    }

    @Test(arguments: [
        origin("b.example"), origin("a.example", port: 8443),
        WebURL(string: "-", scheme: "http", host: "a.example", port: 443, path: "/").origin,
    ])
    func `S-69: a move to another origin keeps nothing but what the proxy was told`(
        there: WebURL.Origin
    ) {
        var authentication = answered(by: here)
        authentication.move(to: there)
        var expected = TaskAuthentication()
        expected.proxy = answered(by: here).proxy
        #expect(authentication == expected)
        authentication.move(to: here)
        #expect(authentication == expected, "the way back brings nothing back")
    }

    @Test func `S-69: password and certificate are each judged by their own origin`() {
        let there = origin("b.example")
        var authentication = answered(by: here)
        authentication.identityOrigin = there
        authentication.identity = .without
        authentication.move(to: there)
        #expect(authentication.server == AuthenticationRound())
        #expect(authentication.identity == .without)
        authentication.move(to: here)
        #expect(authentication.identity == .undecided)
        #expect(authentication.identityOrigin == nil)
    }
}
