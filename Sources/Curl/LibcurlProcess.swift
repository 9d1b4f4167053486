internal import CCurl
internal import COpenSSL
internal import Glibc

/// What libcurl takes from the whole process, fixed once before its first use.
enum LibcurlProcess {
    /// Prepares the process; every later call is free.
    ///
    /// Changes environment and locale, so the first transport belongs to the start of the program,
    /// before other threads read either.
    static func prepare() {
        _ = prepared
    }

    private static let prepared: Void = {
        scrubEnvironment()
        fixLocale()
        let code = curl_global_init(Int(CURL_GLOBAL_SSL))
        precondition(code == CURLE_OK, "curl_global_init: no memory or no TLS library")
        expectOpenSSL()
    }()

    /// Handshakes are judged by OpenSSL's functions, which get libcurl's objects: both have to be
    /// one library.
    private static func expectOpenSSL() {
        let versions = curl_version().map { String(cString: $0) } ?? ""
        let wanted = "OpenSSL/\(OPENSSL_version_major())."
        precondition(
            versions.split(separator: " ").contains { $0.hasPrefix(wanted) },
            "libcurl has to use \(wanted)x, and is \(versions)")
    }

    /// removes the variables by which an environment sends requests through a proxy or writes
    /// the keys of TLS connections to a file.
    static func scrubEnvironment() {
        var names: [String] = []
        var entry = environ
        while let text = entry.pointee {
            let name = String(cString: text).prefix { $0 != "=" }
            let upper = name.uppercased()
            if upper.hasSuffix("_PROXY") || upper == "SSLKEYLOGFILE" { names.append(String(name)) }
            entry += 1
        }
        for name in names { unsetenv(name) }
    }

    /// libidn2 reads host names in the locale's encoding; under `C` a name that is not ASCII
    /// would be refused or, worse, read differently on another machine.
    private static func fixLocale() {
        let locale = setlocale(LC_CTYPE, "C.UTF-8") ?? setlocale(LC_CTYPE, "C.utf8")
        precondition(
            locale != nil, "the C.UTF-8 locale, part of every glibc since 2.35, is missing")
    }
}
