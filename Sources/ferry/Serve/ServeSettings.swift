import Diagnostics
import Foundation
import JSON
import Semantics

/// The gateway's settings: from the command line, else the environment, else a file, else the
/// defaults.
struct ServeSettings {
    let host: String
    let port: UInt16
    let unixSocket: String?
    let dataDirectory: String
    let allowedDestinations: [AllowedDestination]
    let allowedHosts: [String]
    /// Hosts that are shown the operator's Kerberos tickets, in lower case (S-63).
    let negotiateHosts: Set<String>
    /// A file of PEM certificates to trust in place of the system's; nil for the system's.
    let trustedCertificates: String?
    let isBehindTLSProxy: Bool
    let logLevel: Log.Level

    /// A setting that cannot be used.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
        /// EX_USAGE or EX_CONFIG of <sysexits.h>.
        let code: Int32
    }

    init(_ options: Serve, environment: [String: String]) throws(Refusal) {
        let path = options.configuration ?? environment["FERRY_CONFIGURATION"]
        let source = SettingsSource(
            environment: environment, file: try path.map(SettingsFile.read) ?? SettingsFile())
        host = options.host ?? source.text("host") ?? "127.0.0.1"
        guard let port = UInt16(options.port.map(String.init) ?? source.text("port") ?? "8080")
        else {
            throw Refusal(description: "The port must be 0 to 65535.", code: 64)
        }
        self.port = port
        unixSocket = options.unixSocket ?? source.text("unixSocket")
        dataDirectory = options.dataDirectory ?? source.text("dataDirectory") ?? "./ferry-data"
        allowedHosts = options.allowHosts.isEmpty ? source.list("allowHost") : options.allowHosts
        let negotiateHosts =
            options.negotiateHosts.isEmpty ? source.list("negotiateHost") : options.negotiateHosts
        self.negotiateHosts = Set(negotiateHosts.map { $0.lowercased() })
        trustedCertificates = options.trustedCertificates ?? source.text("trustedCertificates")
        if let path = trustedCertificates, !FileManager.default.isReadableFile(atPath: path) {
            throw Refusal(
                description: "The file of trusted certificates \(path) cannot be read.", code: 66)
        }
        let destinations =
            options.allowDestinations.isEmpty
            ? source.list("allowDestination") : options.allowDestinations
        allowedDestinations = try destinations.map { text throws(Refusal) in
            do {
                return try AllowedDestination(parsing: text)
            } catch {
                throw Refusal(description: "--allow-destination \(text): \(error)", code: 64)
            }
        }
        let behind = source.text("behindTlsProxy")
        guard behind.map({ ["true", "false"].contains($0) }) ?? true else {
            throw Refusal(description: "behind-tls-proxy must be true or false.", code: 64)
        }
        isBehindTLSProxy = options.behindTLSProxy || behind == "true"
        guard
            let level = Log.Level(rawValue: options.logLevel ?? source.text("logLevel") ?? "notice")
        else {
            throw Refusal(
                description: "The log level must be debug, info, notice, warning or error.",
                code: 64)
        }
        logLevel = level
        try refuseOpenListener()
    }

    /// Without TLS a token would cross the network in clear.
    private func refuseOpenListener() throws(Refusal) {
        guard !isBehindTLSProxy, !isLoopback else { return }
        throw Refusal(
            description: """
                \(host) is not a loopback address, and Ferry itself speaks no TLS: tokens would cross \
                the network in clear. Put a proxy with TLS in front and say --behind-tls-proxy.
                """, code: 78)
    }

    private var isLoopback: Bool {
        if host == "localhost" { return true }
        switch IPAddress(host) {
        case .v4(let address): return address >> 24 == 127
        case .v6(let address): return address == 1
        case nil: return false
        }
    }
}

/// Settings of the environment and of a file.
private struct SettingsSource {
    let environment: [String: String]
    let file: SettingsFile

    func text(_ name: String) -> String? {
        environment[SettingsSource.variable(name)] ?? file.values[name]?.first
    }

    func list(_ name: String) -> [String] {
        if let text = environment[SettingsSource.variable(name)] {
            return text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return file.values[name] ?? []
    }

    /// `dataDirectory` → `FERRY_DATA_DIRECTORY`.
    private static func variable(_ name: String) -> String {
        "FERRY_"
            + name.reduce(into: "") { result, character in
                if character.isUppercase { result += "_" }
                result += character.uppercased()
            }
    }
}

/// A configuration file: one JSON object of texts, numbers, true or false, and arrays of texts.
struct SettingsFile {
    private static let names: Set = [
        "host", "port", "unixSocket", "dataDirectory", "allowDestination", "allowHost",
        "negotiateHost", "trustedCertificates", "behindTlsProxy", "logLevel",
    ]

    var values: [String: [String]] = [:]

    static func read(_ path: String) throws(ServeSettings.Refusal) -> SettingsFile {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ServeSettings.Refusal(
                description: "The configuration file \(path) cannot be read.", code: 66)
        }
        var file = SettingsFile()
        do throws(JSONError) {
            try JSONReader.read(Array(data)) { reader throws(JSONError) in
                try reader.object { reader, name throws(JSONError) in
                    guard names.contains(name) else { throw reader.unknownMember(name) }
                    file.values[name] = try texts(&reader)
                }
            }
        } catch {
            throw ServeSettings.Refusal(description: "\(path): the value \(error)", code: 78)
        }
        return file
    }

    private static func texts(_ reader: inout JSONReader) throws(JSONError) -> [String] {
        switch try reader.peekKind() {
        case .array:
            var texts: [String] = []
            try reader.array { reader throws(JSONError) in texts.append(try reader.string()) }
            return texts
        case .number: return [String(try reader.int64())]
        case .bool: return [String(try reader.bool())]
        default: return [try reader.string()]
        }
    }
}
