/// How a task deals with content codings (S-76; RFC 9110 §8.4).
public struct ContentCoding: Hashable, Sendable {
    /// A coding that the gateway takes off.
    public enum Layer: String, CaseIterable, Sendable {
        /// RFC 1952; several members are one content.
        case gzip
        /// RFC 1950, and what many send under the name: RFC 1951 without anything around it (RFC
        /// 9110 §8.4.1.2).
        case deflate
        /// RFC 7932.
        case br
        /// RFC 8878, in the window of RFC 9659; several frames are one content.
        case zstd
    }

    /// More layers than this are nobody's honest content: it is left as it is.
    static let layerLimit = 5
    /// The same for a longer list, in bytes, which is not read.
    private static let listLimit = 1024

    /// The `Accept-Encoding` that the gateway adds; nil where the client has its own.
    public let acceptEncoding: String?
    /// Whether bytes are decoded before they are delivered.
    public let decodes: Bool

    /// What a task sends and expects.
    ///
    /// - Parameters:
    ///   - type: downloads keep a file's bytes as they are; data and upload tasks decode.
    ///   - headers: the request's own and the session's; an `Accept-Encoding` in them leaves bytes
    ///     untouched.
    public init(for type: TaskType, headers: HeaderList) {
        if headers.contains("Accept-Encoding") {
            self.acceptEncoding = nil
            self.decodes = false
        } else {
            self.acceptEncoding = type == .download ? "identity" : Self.accepted
            self.decodes = type != .download
        }
    }

    private static let accepted = Layer.allCases.map(\.rawValue).joined(separator: ", ")

    /// How many bytes of a response will be delivered.
    ///
    /// - Parameters:
    ///   - contentLength: of the response.
    ///   - status: of the response.
    ///   - headers: of the response.
    /// - Returns: `contentLength`, or `unknownSize` where it is nil or counts coded bytes.
    public func expectedLength(contentLength: Int64?, status: Int, headers: HeaderList) -> Int64 {
        guard let contentLength, !decodes || Self.layers(of: headers, status: status).isEmpty else {
            return unknownSize
        }
        return contentLength
    }

    /// What is taken off a response's content where a task decodes.
    ///
    /// A coding that is not known, or too many of them, leave the whole content as it came; so does
    /// a part of a content (206), which is one of its coded bytes (RFC 9110 §14.2).
    ///
    /// - Parameters:
    ///   - headers: of the response.
    ///   - status: of the response.
    /// - Returns: the codings in the order in which they were put on; empty where the content is
    ///   delivered as it is.
    public static func layers(of headers: HeaderList, status: Int) -> [Layer] {
        guard status != 206, let names = names(in: headers), names.count <= layerLimit else {
            return []
        }
        let layers = names.compactMap { $0 == "x-gzip" ? .gzip : Layer(rawValue: $0) }
        return layers.count == names.count ? layers : []
    }

    /// Whether a response's content has a coding other than `identity`.
    static func isCoded(_ headers: HeaderList) -> Bool {
        names(in: headers)?.isEmpty != true
    }

    /// The codings but for `identity`; nil where they are too many to be read.
    private static func names(in headers: HeaderList) -> [String]? {
        let values = headers.values(of: "Content-Encoding")
        guard values.reduce(0, { $0 + $1.utf8.count }) <= listLimit else { return nil }
        return values.flatMap { $0.split(separator: ",") }
            .map { $0.trimmingFieldSpace.asciiLowercased }
            .filter { !$0.isEmpty && $0 != "identity" }
    }
}
