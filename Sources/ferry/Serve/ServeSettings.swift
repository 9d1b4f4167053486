import Diagnostics
import Foundation
import Glibc
import HTTP
import REST
import Semantics
import TLS

/// The gateway's settings: from the command line, else the environment, else a file, else the
/// defaults.
struct ServeSettings {
    let host: String
    var port: UInt16
    let unixSocket: String?
    let dataDirectory: String
    /// The URL of a PostgreSQL database, which may have a password in it; nil for a database in the
    /// data directory.
    let store: String?
    /// Whether it waits for its turn where another gateway has that database.
    let standsBy: Bool
    /// Where the other gateways of that database reach this one, in lower case; nil for a gateway
    /// that has the database for itself.
    let nodeAddress: String?
    /// Where contents that are whole are kept; nil for the data directory.
    let contents: ContentsPlace?
    /// What credentials for that place are looked for in, with what the environment has no more.
    let contentsEnvironment: [String: String]
    let key: KeySource
    let allowedDestinations: [AllowedDestination]
    let allowedHosts: [String]
    /// Origins whose pages may read what is answered, as browsers write them.
    let allowedOrigins: [String]
    /// Hosts that are shown the operator's Kerberos tickets, in lower case (S-63).
    let negotiateHosts: Set<String>
    /// Paths of the folders that downloads can be saved in, by their names.
    let folders: [String: String]
    /// A file of PEM certificates to trust in place of the system's; nil for the system's.
    let trustedCertificates: String?
    /// When work is done that may be put off (S-27).
    let quietHours: QuietHours
    /// How much of it at a time.
    let discretionaryAttempts: Int
    /// How long results of background sessions are kept, in days.
    let backgroundRetention: Int
    let isBehindTLSProxy: Bool
    /// What TLS is spoken with; nil for HTTP in clear.
    let tls: TLSFiles?
    let logLevel: Log.Level
    let logFormat: Log.Format
    /// Where the token is that may read `/metrics` and nothing else; nil for none.
    let metricsTokenFile: String?
    /// Where the audit is kept; nil keeps none.
    let auditLog: String?
    /// A file whose locks say how long the gateway is needed; nil for one that serves everybody.
    let userLock: String?

    /// Settings from where they come from.
    ///
    /// - Parameters:
    ///   - options: of the command line.
    ///   - environment: of the process.
    ///   - secrets: what was in it and is not any more, FERRY_KEY among it.
    /// - Throws: `Refusal`.
    init(
        _ options: Serve, environment: [String: String], secrets: [String: String]
    ) throws(Refusal) {
        let source = try SettingsSource(
            configuration: options.configuration, environment: environment)
        host = options.host ?? source.text("host") ?? "127.0.0.1"
        guard let port = UInt16(options.port.map(String.init) ?? source.text("port") ?? "8080")
        else {
            throw source.refusal(
                of: "port", isOption: options.port != nil, "The port must be 0 to 65535.")
        }
        self.port = port
        userLock = options.whileLocked
        unixSocket = options.unixSocket ?? source.text("unixSocket")
        dataDirectory = try source.dataDirectory(options.dataDirectory)
        let key = try KeySource(
            option: options.keyFile, source, variable: secrets[KeySource.variable])
        self.key = key
        store = try source.readingText("store", options.store) { text throws(Refusal) in
            try ServeSettings.store(text, key: key)
        }
        standsBy = try source.flag("standBy", options.standBy)
        guard !standsBy || store != nil else {
            throw Refusal(
                description: """
                    --stand-by needs --store: two gateways take turns at a database on a server.
                    """, code: 64)
        }
        contents = try source.readingText("contents", options.contents) { text throws(Refusal) in
            try ContentsPlace(text, environment: environment)
        }
        let nodeAddress = try source.readingText("nodeAddress", options.nodeAddress) {
            text throws(Refusal) in try NodeAddress(text)
        }
        self.nodeAddress = nodeAddress?.text
        contentsEnvironment = environment.merging(secrets) { $1 }
        allowedHosts = try source.readingList("allowHost", options.allowHosts) {
            names throws(Refusal) in try ServeSettings.hosts(names)
        }
        allowedOrigins = try source.readingList("allowOrigin", options.allowOrigins) {
            texts throws(Refusal) in try ServeSettings.origins(texts)
        }
        folders = try source.readingList("folder", options.folders) { texts throws(Refusal) in
            try ServeSettings.folders(texts)
        }
        negotiateHosts = try source.readingList("negotiateHost", options.negotiateHosts) {
            names throws(Refusal) in
            for name in names {
                try ServeSettings.requireHost(name, "--negotiate-host", mayHaveStar: false)
            }
            return Set(names.map { $0.lowercased() })
        }
        trustedCertificates = options.trustedCertificates ?? source.text("trustedCertificates")
        if let path = trustedCertificates {
            do throws(TLSFileError) {
                try TrustedAuthorities.check(path)
            } catch {
                throw Refusal(error)
            }
        }
        allowedDestinations = try source.readingList(
            "allowDestination", options.allowDestinations
        ) { texts throws(Refusal) in try ServeSettings.destinations(texts) }
        quietHours = try source.readingList("quietHours", options.quietHours) {
            texts throws(Refusal) in try ServeSettings.quietHours(texts)
        }
        discretionaryAttempts = try source.number(
            "discretionaryAttempts", options.discretionaryAttempts, in: 1...100_000, default: 64)
        backgroundRetention = try source.number(
            "backgroundRetention", options.backgroundRetention, in: 1...3650, default: 30)
        isBehindTLSProxy = try source.flag("behindTlsProxy", options.behindTLSProxy)
        tls = try ServeSettings.tls(options, source)
        logLevel =
            try source.readingText("logLevel", options.logLevel) { text throws(Refusal) in
                if let level = Log.Level(rawValue: text) { return level }
                throw Refusal(
                    description: "The log level must be debug, info, notice, warning or error.",
                    code: 64)
            } ?? .notice
        logFormat =
            try source.readingText("logFormat", options.logFormat) { text throws(Refusal) in
                if let format = Log.Format(rawValue: text) { return format }
                throw Refusal(description: "The log format must be text or json.", code: 64)
            } ?? .usual
        metricsTokenFile = options.metricsTokenFile ?? source.text("metricsTokenFile")
        auditLog = options.auditLog ?? source.text("auditLog")
        try refuseOpenListener()
        if let nodeAddress { try requireNode(at: nodeAddress) }
    }

    /// Refuses a node that shares less than the others of its kind do, or that they would send
    /// tokens to in clear.
    private func requireNode(at address: NodeAddress) throws(Refusal) {
        guard !standsBy else {
            throw Refusal(
                description: """
                    --node-address and --stand-by exclude each other: a node serves beside the \
                    others, and one that stands by serves in the place of another.
                    """, code: 64)
        }
        guard store != nil, contents != nil else {
            throw Refusal(
                description: """
                    --node-address needs --store and --contents: the nodes share a database on a \
                    server, and a place for contents.
                    """, code: 64)
        }
        guard tls?.clientAuthorities == nil else {
            throw Refusal(
                description: """
                    --node-address and --tls-client-ca exclude each other: --tls-client-ca asks \
                    clients for certificates, which the other nodes have none of.
                    """, code: 64)
        }
        guard address.isSecure || address.isLoopback || isBehindTLSProxy else {
            throw Refusal(
                description: """
                    --node-address \(address.text) is not https: the other nodes would send tokens \
                    across the network in clear. Give a certificate by --tls-certificate and \
                    --tls-key, or, on a network that nobody else can read, say --behind-tls-proxy.
                    """, code: 78)
        }
        guard isBehindTLSProxy || address.isSecure == (tls != nil) else {
            throw Refusal(
                description: """
                    --node-address \(address.text): this gateway speaks \
                    \(tls == nil ? "no TLS" : "TLS alone"), so that nobody would reach it there.
                    """, code: 64)
        }
    }

    private static func hosts(_ names: [String]) throws(Refusal) -> [String] {
        for name in names where HostRule.isTooWide(name) {
            throw Refusal(
                description: """
                    --allow-host \(name): a star stands for the first label alone, and two more have \
                    to follow, as in *.example.com.
                    """, code: 64)
        }
        for name in names { try requireHost(name, "--allow-host") }
        return names
    }

    private static func destinations(
        _ texts: [String]
    ) throws(Refusal) -> [AllowedDestination] {
        try texts.map { text throws(Refusal) in
            do {
                return try AllowedDestination(parsing: text)
            } catch {
                throw Refusal(description: "--allow-destination \(text): \(error)", code: 64)
            }
        }
    }

    /// Refuses what no Host field, and no URL, could have for a host.
    private static func requireHost(
        _ name: String, _ option: String, mayHaveStar: Bool = true
    ) throws(Refusal) {
        let isInBrackets = name.hasPrefix("[") && name.hasSuffix("]")
        let plain = isInBrackets ? name.dropFirst().dropLast() : name[...]
        let host = HostName(String(plain))
        let isVersion6 = host?.text.contains(":") ?? false
        let isHost =
            host != nil && isInBrackets == isVersion6 && (mayHaveStar || !name.contains("*"))
        guard !isHost else { return }
        throw Refusal(
            description: """
                \(option) \(name): a host is a name or an address, without a scheme, a port or a \
                path, as in ferry.example.com, 192.0.2.1 or [2001:db8::1].
                """, code: 64)
    }

    private static func store(_ url: String, key: KeySource) throws(Refusal) -> String {
        guard isDatabase(url) else {
            throw Refusal(
                description: """
                    --store names a PostgreSQL database, as in \
                    postgres://user:password@host:port/database.
                    """, code: 64)
        }
        if case .dataDirectory = key {
            throw Refusal(
                description: """
                    --store needs FERRY_KEY or --key-file: a key that lay in the data directory \
                    alone would be lost with this machine, and nothing else opens the database.
                    """, code: 78)
        }
        return url
    }

    /// Whether a URL names a database on a server.
    static func isDatabase(_ url: String) -> Bool {
        ["postgres://", "postgresql://"].contains(where: url.hasPrefix)
    }

    private static func origins(_ texts: [String]) throws(Refusal) -> [String] {
        try texts.map { text throws(Refusal) in
            if let origin = CrossOrigin.origin(parsing: text) { return origin }
            throw Refusal(
                description: """
                    --allow-origin \(text): an origin is a scheme and a host, as in \
                    https://app.example.com, with nothing behind them but a port.
                    """, code: 64)
        }
    }

    private static func folders(_ texts: [String]) throws(Refusal) -> [String: String] {
        var folders: [String: String] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, isFolderName(parts[0]), parts[1].hasPrefix("/") else {
                throw Refusal(
                    description: """
                        --folder \(text): a folder is a name of letters, digits, "-" and "_", an \
                        equals sign and an absolute path, as in music=/srv/music.
                        """, code: 64)
            }
            guard folders.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw Refusal(
                    description: "--folder \(text): another folder has this name.", code: 64)
            }
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: parts[1], isDirectory: &isFolder),
                isFolder.boolValue
            else {
                throw Refusal(
                    description: "--folder \(text): there is no such folder.", code: 66)
            }
        }
        return folders
    }

    private static func isFolderName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                    || Character(UnicodeScalar($0)).isLetter
                    || Character(UnicodeScalar($0)).isNumber
            } && text.allSatisfy(\.isASCII)
    }

    private static func quietHours(_ texts: [String]) throws(Refusal) -> QuietHours {
        do {
            return try QuietHours(parsing: texts)
        } catch {
            throw Refusal(
                description: "--quiet-hours \(texts.joined(separator: ",")): \(error).", code: 64)
        }
    }

    private static func tls(
        _ options: Serve, _ source: SettingsSource
    ) throws(Refusal) -> TLSFiles? {
        let certificate = options.tlsCertificate ?? source.text("tlsCertificate")
        let key = options.tlsKey ?? source.text("tlsKey")
        let authorities = options.tlsClientCA ?? source.text("tlsClientCa")
        if let certificate, let key {
            return TLSFiles(
                certificate: certificate, key: key, clientAuthorities: authorities)
        }
        guard certificate == nil, key == nil else {
            throw Refusal(
                description: """
                    --tls-certificate and --tls-key go together: a certificate is of no use without \
                    its key. Both may be in one file.
                    """, code: 64)
        }
        guard authorities == nil else {
            throw Refusal(
                description: "--tls-client-ca needs --tls-certificate and --tls-key.", code: 64)
        }
        return nil
    }

    /// Without TLS a token would cross the network in clear.
    private func refuseOpenListener() throws(Refusal) {
        guard tls == nil, !isBehindTLSProxy, !NodeAddress.isLoopback(host) else { return }
        throw Refusal(
            description: """
                \(host) is not a loopback address: without TLS, tokens would cross the network in \
                clear. Give a certificate by --tls-certificate and --tls-key (`ferry certificate \
                NAME` makes a pair), or put a proxy with TLS in front and say --behind-tls-proxy.
                """, code: 78)
    }
}

extension Log.Format {
    /// For people where they look at standard error, else for programs.
    fileprivate static var usual: Log.Format { isatty(STDERR_FILENO) == 1 ? .text : .json }
}
