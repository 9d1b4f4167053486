import Testing

import Semantics

struct CredentialTests {
    @Test(
        arguments: [
            (.basic, [.password]), (.digest, [.password]), (.ntlm, [.password]), (.negotiate, []),
            (.other("Bearer"), []), (.clientCertificate, [.identity]),
            (.serverTrust, [.serverTrust]),
        ] as [(AuthenticationMethod, [Kind])])
    func `S-63, S-64: each method takes its own kind of credential`(
        method: AuthenticationMethod, kinds: [Kind]
    ) {
        for kind in Kind.allCases {
            #expect(kind.credential.answers(method) == kinds.contains(kind), "\(kind)")
        }
    }

    enum Kind: CaseIterable {
        case password, identity, serverTrust

        var credential: Credential {
            switch self {
            case .password: Credential(.password(user: "u", password: "secret"))
            case .identity: Credential(.identity(.pem(certificate: "c", key: "secret")))
            case .serverTrust: Credential(.serverTrust(leaf: [1]))
            }
        }
    }

    @Test func `S-65: of a credential, no more than its user is shown`() {
        #expect(
            ShownCredential(
                Credential(.password(user: "u", password: "p"), persistence: .permanent))
                == ShownCredential(user: "u", persistence: .permanent))
        for kind in [Kind.identity, .serverTrust] {
            #expect(
                ShownCredential(kind.credential) == ShownCredential(user: nil, persistence: .none))
        }
    }
}

struct CredentialRulesTests {
    private func violation(
        _ user: String, _ password: String, _ method: AuthenticationMethod
    ) -> CredentialViolation? {
        do throws(CredentialViolation) {
            try CredentialRules.check(user: user, password: password, for: method)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "", "u", "user@example.org", "DOMAIN\\user", "ünï ✓", " a b ", "\"quoted\"", "\u{a0}",
    ])
    func `a name or password may be any text, also none`(text: String) {
        for method in [AuthenticationMethod.basic, .digest, .ntlm] {
            #expect(violation(text, "", method) == nil)
            #expect(violation("", text, method) == nil)
        }
    }

    @Test(
        arguments: [
            "\r\n", "\n", "\r", "\0", "\t", "\u{1}", "\u{1f}", "\u{7f}", "\u{80}", "\u{9f}",
        ],
        [AuthenticationMethod.basic, .digest, .ntlm])
    func `X-7: no control character is in a name or password`(
        control: String, method: AuthenticationMethod
    ) {
        let user = violation("a\(control)Evil: 1", "p", method)
        #expect(user?.subject == .user)
        #expect(user?.reason == .controlCharacter)
        let password = violation("u", "a\(control)", method)
        #expect(password?.subject == .password)
        #expect(password?.reason == .controlCharacter)
    }

    @Test(
        arguments: [(.basic, false), (.digest, true), (.ntlm, true)]
            as [(
                AuthenticationMethod, Bool
            )])
    func `a user name for Basic has no colon (RFC 7617, 2), a password may`(
        method: AuthenticationMethod, isFine: Bool
    ) {
        #expect(violation("a:b", "p", method)?.reason == (isFine ? nil : .colon))
        #expect(violation("a", "b:c:d", method) == nil)
    }

    @Test func `names and passwords have at most 1,024 bytes each`() {
        let full = String(repeating: "é", count: 512)
        #expect(violation(full, full, .basic) == nil)
        let user = violation("\(full)x", "p", .digest)
        #expect(user?.subject == .user)
        #expect(user?.reason == .tooLong(byteLimit: 1_024))
        let password = violation("u", "\(full)x", .digest)
        #expect(password?.subject == .password)
        #expect(password?.reason == .tooLong(byteLimit: 1_024))
    }

    @Test(
        arguments: [
            ("hidden\n", "x", "The user name has a control character."),
            (
                "hidden:", "x",
                "The user name has a colon, which Basic cannot carry (RFC 7617, section 2)."
            ),
            ("x", "hidden\n", "The password has a control character."),
            (
                "x", String(repeating: "hidden", count: 200),
                "The password is longer than 1024 bytes."
            ),
        ])
    func `a violation is one sentence that repeats nothing of the secret`(
        user: String, password: String, sentence: String
    ) {
        #expect(violation(user, password, .basic)?.sentence == sentence)
    }
}
