package import JSON
package import Semantics

extension ProxyConfiguration {
    /// What is in force, so that it can be posted again (S-5).
    package func write(to json: inout JSONWriter) {
        json.object { json in
            if let http {
                json.member("HTTPEnable", true)
                json.member("HTTPProxy", http.host)
                json.member("HTTPPort", http.port)
            }
            if let https {
                json.member("HTTPSEnable", true)
                json.member("HTTPSProxy", https.host)
                json.member("HTTPSPort", https.port)
            }
            if let socks {
                json.member("SOCKSEnable", true)
                json.member("SOCKSProxy", socks.host)
                json.member("SOCKSPort", socks.port)
                json.member("SOCKSVersion", socks.kind.rawValue)
            }
            if !exceptions.isEmpty { json.member("ExceptionsList", exceptions.map(\.pattern)) }
        }
    }
}
