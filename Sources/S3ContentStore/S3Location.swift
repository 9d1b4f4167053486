public import Engine
internal import Syntax

/// Where on S3, or on what speaks its language, contents are kept.
public struct S3Location: Sendable, Equatable {
    /// The bucket's name.
    public let bucket: String
    /// What the names of all objects begin with: empty, or with a slash at its end.
    public let prefix: String
    /// The region that requests are signed for.
    public let region: String
    /// Scheme, host and port of the service, without a slash at the end.
    let endpoint: String
    /// Whether the bucket is in the path, and not in the host's name.
    let isPathStyle: Bool

    /// Reads `s3://bucket/prefix?endpoint=URL&region=NAME&style=path|virtual`, all but the bucket
    /// left out at will. What is not said is taken from `AWS_REGION`, `AWS_DEFAULT_REGION` (else
    /// us-east-1), `AWS_ENDPOINT_URL_S3` and `AWS_ENDPOINT_URL` (else Amazon's). The bucket is in
    /// the path where an endpoint is named, or where its name has dots.
    /// <https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html>
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - environment: of the process.
    /// - Throws: `UnusablePlace`, whose sentence names the text.
    public init(_ text: String, environment: [String: String]) throws(UnusablePlace) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].dropFirst("s3://".count)
        let names = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].hasPrefix("s3://"), let bucket = names.first, Self.isBucket(bucket) else {
            throw UnusablePlace(
                "--contents \(parts[0]): a place on S3 is s3://BUCKET/PREFIX, and a bucket's name "
                    + "has 3 to 63 small letters, digits, dots and hyphens.")
        }
        let prefix = names.count < 2 ? "" : names[1].drop { $0 == "/" }
        guard prefix.utf8.allSatisfy(Self.isPlain), prefix.utf8.count <= 900,
            !prefix.split(separator: "/").contains(where: { $0 == "." || $0 == ".." })
        else {
            throw UnusablePlace(
                "--contents \(parts[0]): the prefix may have letters, digits, “-”, “_”, “.” and “/”."
            )
        }
        let options = try Self.options(parts.count < 2 ? "" : parts[1], of: text)
        self.bucket = String(bucket)
        let trimmed = prefix.split(separator: "/").joined(separator: "/")
        self.prefix = trimmed.isEmpty ? "" : trimmed + "/"
        region =
            options["region"] ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"]
            ?? "us-east-1"
        let named =
            options["endpoint"] ?? environment["AWS_ENDPOINT_URL_S3"]
            ?? environment["AWS_ENDPOINT_URL"]
        switch options["style"] {
        case "path": isPathStyle = true
        case "virtual": isPathStyle = false
        default: isPathStyle = named != nil || bucket.contains(".")
        }
        guard region.utf8.allSatisfy({ Self.isPlain($0) && $0 != Octets.slash }), !region.isEmpty
        else { throw UnusablePlace("--contents \(parts[0]): “\(region)” is no region.") }
        let end = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        var endpoint = (named ?? "https://s3.\(region).\(end)")[...]
        while endpoint.hasSuffix("/") { endpoint = endpoint.dropLast() }
        let authority = endpoint.split(separator: "://", maxSplits: 1)
        guard authority.count == 2, ["http", "https"].contains(authority[0]),
            !authority[1].contains(where: { "/?#@\\".contains($0) })
        else {
            throw UnusablePlace(
                "--contents \(parts[0]): the endpoint is http://HOST or https://HOST, with a port if "
                    + "it is not the usual one, and nothing behind it.")
        }
        self.endpoint = Self.normal(scheme: authority[0], authority[1])
    }

    /// As a URL has it in its normal form, which is what is signed.
    private static func normal(scheme: Substring, _ authority: Substring) -> String {
        let usual = scheme == "https" ? ":443" : ":80"
        let bare = authority.hasSuffix(usual) ? authority.dropLast(usual.count) : authority
        return "\(scheme)://\(bare.lowercased())"
    }

    private static func options(
        _ query: Substring, of text: String
    ) throws(UnusablePlace) -> [String: String] {
        var options: [String: String] = [:]
        for option in query.split(separator: "&") {
            let parts = option.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, ["endpoint", "region", "style"].contains(parts[0]),
                let value = PercentCoding.bytes(of: parts[1])
            else { throw unknown(option, text) }
            options[String(parts[0])] = String(decoding: value, as: UTF8.self)
        }
        if let style = options["style"], style != "path", style != "virtual" {
            throw unknown("style=\(style)", text)
        }
        return options
    }

    private static func unknown(_ option: Substring, _ text: String) -> UnusablePlace {
        UnusablePlace(
            "--contents \(text): “\(option)” is none of endpoint=URL, region=NAME, style=path and "
                + "style=virtual.")
    }

    private static func isBucket(_ name: Substring) -> Bool {
        (3...63).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
                    || $0 == UInt8(ascii: ".")
            } && !name.hasPrefix(".") && !name.hasSuffix(".")
    }

    /// What stands in a path as it is, also where it is signed.
    private static func isPlain(_ byte: UInt8) -> Bool {
        Octets.isUnreserved(byte) || byte == Octets.slash
    }

    /// The place as people know it, without the options.
    public var place: String { "s3://\(bucket)/\(prefix.isEmpty ? "" : String(prefix.dropLast()))" }

    /// The host's name, with the port if it is not the usual one.
    var host: String {
        let authority = endpoint.split(separator: "://", maxSplits: 1)[1]
        return isPathStyle ? String(authority) : "\(bucket).\(authority)"
    }

    /// What the bucket's own paths begin with.
    private var root: String { isPathStyle ? "/\(bucket)" : "" }

    /// The path of an object; of the bucket for an empty key.
    func path(of key: String) -> String { root + "/" + key }

    /// The URL of a path.
    func url(_ path: String) -> String { endpoint.prefix { $0 != ":" } + "://" + host + path }
}
