package import JSON
package import Semantics
internal import Syntax

extension Challenge {
    /// The challenge as its event tells it (S-65): nothing in it is secret.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.name("protectionSpace")
            writeSpace(to: &json)
            json.member("previousFailureCount", previousFailureCount)
            json.name("proposedCredential")
            if let proposedCredential {
                json.object { json in
                    json.member("user", proposedCredential.user)
                    json.member("persistence", proposedCredential.persistence.rawValue)
                }
            } else {
                json.null()
            }
            json.name("failureResponse")
            if let failureResponse { failureResponse.write(to: &json) } else { json.null() }
        }
    }

    /// NSURLProtectionSpace, which is also where Foundation keeps what the handshake has shown.
    private func writeSpace(to json: inout JSONWriter) {
        json.object { json in
            space.writeMembers(to: &json)
            json.member("receivesCredentialSecurely", space.receivesCredentialSecurely)
            json.member("distinguishedNames", distinguishedNames)
            json.name("serverTrust")
            if let serverTrust { serverTrust.write(to: &json) } else { json.null() }
        }
    }
}

extension ProtectionSpace {
    /// What tells a space from others.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("host", host)
        json.member("port", port)
        json.member("protocol", scheme)
        json.member("realm", realm)
        json.member("authenticationMethod", method.name)
        json.member("isProxy", isProxy)
    }
}

extension ServerTrust {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.array("certificates") { json in
                for certificate in chain { certificate.write(to: &json) }
            }
            json.object("evaluation") { json in
                json.member("trusted", isTrusted)
                json.array("failures") { json in
                    for failure in failures {
                        json.object { json in
                            json.member("code", failure.code)
                            json.member("message", failure.message)
                            json.member("depth", failure.depth)
                        }
                    }
                }
            }
        }
    }
}

extension CertificateRecord {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("pem", pem)
            json.member("subject", subject)
            json.member("issuer", issuer)
            json.member("serialNumber", serialNumber)
            json.member("notBefore", instant: notBefore.milliseconds)
            json.member("notAfter", instant: notAfter.milliseconds)
            json.member("subjectAlternativeNames", alternativeNames)
            json.member("fingerprint", "sha-256=:" + Base64.standard.text(of: fingerprint) + ":")
        }
    }
}
