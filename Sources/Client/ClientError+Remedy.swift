internal import Glibc

extension ClientError {
    /// What may be done about it, in a sentence; nil where nothing is known.
    ///
    /// `url` is what was asked for.
    public func remedy(for url: String? = nil) -> String? {
        switch self {
        case .resumable(let error): error.remedy(for: url)
        case .transferFailed(let failure): failure.remedy(for: failure.failingURL ?? url)
        case .serverAnswered(401): "Say who you are with -u NAME; the password is asked for."
        case .serverAnswered(407): ClientError.proxyUser
        case .loginRefused(let status): ClientError.wrongLogin(isOfProxy: status == 407)
        case .unreachable(let gateway, _) where !gateway.contains(":"): nil
        case .unreachable(let gateway, _):
            gateway.contains("//127.0.0.1:") || gateway.contains("//localhost:")
                ? """
                Is a gateway running there? `ferry serve --port \
                \(gateway.split(separator: ":").last ?? "8080")` starts one.
                """
                : "Is a gateway running there? `ferry serve` starts one on its machine."
        case .untrusted(_, let why): why.remedy
        case .noNode: "`ferry serve --node-address URL` makes a gateway one of several."
        case .refused(let problem) where problem.status == 401:
            "The token is not that gateway's: set FERRY_TOKEN, or give --token-file."
        default: nil
        }
    }
}

extension ClientError {
    fileprivate static let proxyUser = "Say who you are to the proxy with --proxy-user NAME."

    fileprivate static func wrongLogin(isOfProxy: Bool) -> String {
        "The \(isOfProxy ? "proxy" : "server") does not take this user name or password."
    }
}

extension TransferFailure {
    /// Whether the way to the proxy has failed, and not the proxy itself, which would be told.
    private var isOfProxy: Bool {
        guard proxy != nil else { return false }
        let words = "\(message) \(underlying ?? "")".lowercased()
        return !words.contains("tunnel") && !words.contains("socks")
    }

    fileprivate func remedy(for url: String?) -> String? {
        let place = url.flatMap { WebPlace(url: $0) }
        switch name {
        case "destinationDenied":
            let address = place.flatMap { $0.block } ?? "ADDRESS"
            return """
                The gateway connects to this machine and private networks only where it is told so: \
                `ferry serve --allow-destination \(address)` allows it. Or the tenant's own rules \
                forbid it: `ferry tenants show NAME` has them.
                """
        case "cannotFindHost" where isOfProxy, "dnsLookupFailed" where isOfProxy:
            return proxy.map { "No proxy is known by the name \($0.host): is it spelt right?" }
        case "cannotConnectToHost" where isOfProxy:
            return proxy.map {
                """
                The proxy \($0.text) does not answer: it is named by --proxy, or in the environment \
                by http_proxy, https_proxy or all_proxy.
                """
            }
        case "cannotConnectToHost" where proxy != nil:
            return proxy.map { "The proxy \($0.text) answers, but does not get to the server." }
        case "cannotFindHost", "dnsLookupFailed":
            return place.map { "No server is known by the name \($0.host): is it spelt right?" }
        case "cannotConnectToHost":
            return place.map { "Nothing answers at \($0.host), port \($0.port)." }
        case "serverCertificateUntrusted", "serverCertificateHasUnknownRoot",
            "serverCertificateHasBadDate", "serverCertificateNotYetValid":
            return """
                --insecure accepts the certificate for this transfer; `ferry serve \
                --trusted-certificates FILE` trusts the authorities in FILE.
                """
        case "secureConnectionFailed":
            return "If the server speaks no TLS, its URL begins with http://."
        case "clientCertificateRequired": return "Give your certificate with --cert FILE."
        case "userAuthenticationRequired", "userCancelledAuthentication":
            let isOfProxy = message.contains("proxy")
            guard !isLoginRefused else { return ClientError.wrongLogin(isOfProxy: isOfProxy) }
            guard !isOfProxy else { return ClientError.proxyUser }
            return "Say who you are with -u NAME; the password is asked for."
        case "digestMismatch":
            let digits = GivenDigest.digits(in: message).map { ", \($0)," } ?? ""
            return "What came\(digits) is not what --checksum names: nothing of it was kept."
        default: return nil
        }
    }
}

extension WebPlace {
    /// The address of the host on this machine, as `--allow-destination` takes it; nil where the
    /// name is not known. A port that no public server has is opened by itself.
    fileprivate var block: String? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &found) == 0, let first = found else { return nil }
        defer { freeaddrinfo(first) }
        var room = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let entry = first.pointee
        guard
            getnameinfo(
                entry.ai_addr, entry.ai_addrlen, &room, socklen_t(room.count), nil, 0,
                NI_NUMERICHOST) == 0
        else { return nil }
        let bytes = room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let address = String(decoding: bytes, as: UTF8.self).prefix { $0 != "%" }
        return address + (address.contains(":") ? "/128" : "/32")
    }
}
