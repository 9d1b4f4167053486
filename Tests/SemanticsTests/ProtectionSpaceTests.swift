import Testing

import Semantics

struct AuthenticationMethodTests {
    @Test(
        arguments: [
            (.basic, "NSURLAuthenticationMethodHTTPBasic", false, true),
            (.digest, "NSURLAuthenticationMethodHTTPDigest", false, true),
            (.ntlm, "NSURLAuthenticationMethodNTLM", true, true),
            (.negotiate, "NSURLAuthenticationMethodNegotiate", true, false),
            (.clientCertificate, "NSURLAuthenticationMethodClientCertificate", true, false),
            (.serverTrust, "NSURLAuthenticationMethodServerTrust", true, false),
            (.other("Bearer"), "Bearer", false, false),
            (.other("Digest"), "Digest", false, false),
        ] as [(AuthenticationMethod, String, Bool, Bool)])
    func `S-63, S-64: each method has its name, its level and its kind of answer`(
        method: AuthenticationMethod, name: String, isOfSession: Bool, takesPassword: Bool
    ) {
        #expect(method.name == name)
        #expect(AuthenticationMethod(name: name) == method)
        #expect(method.isOfSession == isOfSession)
        #expect(method.takesPassword == takesPassword)
    }
}

struct ProtectionSpaceTests {
    @Test(
        arguments: [
            (.basic, false), (.other("Bearer"), false), (.digest, true), (.ntlm, true),
            (.negotiate, true), (.clientCertificate, true), (.serverTrust, true),
        ] as [(AuthenticationMethod, Bool)])
    func `S-65: a secret that is sent as it is goes over TLS securely, and in clear not`(
        method: AuthenticationMethod, isSecureInClear: Bool
    ) {
        for (scheme, isSecure) in [("https", true), ("http", isSecureInClear)] {
            let space = ProtectionSpace(host: "a", port: 1, scheme: scheme, method: method)
            #expect(space.receivesCredentialSecurely == isSecure, "\(scheme)")
        }
    }

    @Test func `S-65: a proxy gets a Basic password in clear, whatever is fetched through it`() {
        let proxy = ProxyAddress(host: "proxy", port: 3128)
        for method in [AuthenticationMethod.basic, .digest] {
            let spaces = ProtectionSpace.offered(
                by: [method == .basic ? "Basic" : "Digest nonce=n"], at: proxy.origin,
                isProxy: true)
            #expect(spaces.map(\.method) == [method])
            #expect(spaces.first?.receivesCredentialSecurely == (method == .digest))
        }
    }
}
