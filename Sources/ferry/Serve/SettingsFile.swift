import Client
import Foundation
import JSON

/// A configuration file: one JSON object of texts, numbers, true or false, and arrays of texts.
struct SettingsFile {
    private static let names: Set = [
        "host", "port", "unixSocket", "dataDirectory", "store", "standBy", "nodeAddress",
        "contents", "allowDestination", "allowHost", "allowOrigin", "folder", "negotiateHost",
        "trustedCertificates", "behindTlsProxy",
        "tlsCertificate", "tlsKey", "tlsClientCa",
        "logLevel", "logFormat", "metricsTokenFile", "auditLog", "keyFile",
        "quietHours", "discretionaryAttempts", "backgroundRetention",
    ]

    /// Of these there may be several.
    private static let lists: Set = [
        "allowDestination", "allowHost", "allowOrigin", "folder", "negotiateHost", "quietHours",
    ]

    private(set) var values: [String: [String]] = [:]
    /// Where it is; nil where there is none.
    private(set) var path: String?

    static func read(_ path: String) throws(Refusal) -> SettingsFile {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Refusal(
                description: "The configuration file \(path) cannot be read.", code: 66)
        }
        var file = SettingsFile()
        file.path = path
        var suggestion = ""
        do throws(JSONError) {
            try JSONReader.read(Array(data)) { reader throws(JSONError) in
                try reader.object { reader, name throws(JSONError) in
                    guard names.contains(name) else {
                        let near = CommandName.nearest(to: name, among: Array(names))
                        suggestion = near.map { ": did you mean \"\($0)\"?" } ?? ""
                        throw reader.unknownMember(name)
                    }
                    file.values[name] = try texts(&reader, of: name)
                }
            }
        } catch {
            throw Refusal(description: "\(path): the value \(error)\(suggestion)", code: 78)
        }
        return file
    }

    private static func texts(
        _ reader: inout JSONReader, of name: String
    ) throws(JSONError) -> [String] {
        switch try reader.peekKind() {
        case .array where lists.contains(name):
            var texts: [String] = []
            try reader.array { reader throws(JSONError) in texts.append(try reader.string()) }
            return texts
        case .number: return [String(try reader.int64())]
        case .bool: return [String(try reader.bool())]
        default: return [try reader.string()]
        }
    }
}
