package import JSON
package import Semantics

extension StoredCredential {
    /// What may be seen of it: nothing that is secret.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.object("protectionSpace") { space.writeMembers(to: &$0) }
            json.member("user", user)
            json.member("persistence", credential.persistence.rawValue)
            json.member("isDefault", isDefault)
        }
    }
}
