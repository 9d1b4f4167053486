package import JSON
package import Semantics

extension Cookie {
    /// The cookie as it is answered; posted as it is, it makes an equal one.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("name", name)
            json.member("value", value)
            json.member("domain", domain)
            json.member("path", path)
            json.member("expires", instant: expires?.milliseconds)
            json.member("secure", isSecure)
            json.member("httpOnly", isHTTPOnly)
            json.member("sameSite", sameSite == .default ? nil : sameSite.rawValue)
            json.member("hostOnly", isHostOnly)
        }
    }
}
