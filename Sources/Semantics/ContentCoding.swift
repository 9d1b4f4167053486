/// How a task deals with content codings (S-76; RFC 9110 §8.4).
public struct ContentCoding: Hashable, Sendable {
    /// The `Accept-Encoding` that the gateway adds; nil where the client has its own.
    public let acceptEncoding: String?
    /// Whether bytes are decoded before they are delivered.
    public let decodes: Bool

    /// What a task sends and expects.
    ///
    /// - Parameters:
    ///   - type: downloads keep a file's bytes as they are; data and upload tasks decode.
    ///   - headers: the request's own and the session's; an `Accept-Encoding` in them leaves bytes untouched.
    public init(for type: TaskType, headers: HeaderList) {
        if headers.contains("Accept-Encoding") {
            self.acceptEncoding = nil
            self.decodes = false
        } else {
            self.acceptEncoding = type == .download ? "identity" : "gzip, deflate, br"
            self.decodes = type != .download
        }
    }

    /// How many bytes will be delivered: `contentLength`, or `unknownSize` where it is nil or counts coded bytes.
    public func expectedLength(contentLength: Int64?, contentEncoding: String?) -> Int64 {
        guard let contentLength, !(decodes && Self.isCoded(contentEncoding)) else {
            return unknownSize
        }
        return contentLength
    }

    /// Whether a `Content-Encoding` names a coding other than `identity`.
    public static func isCoded(_ contentEncoding: String?) -> Bool {
        codings(contentEncoding).contains { $0 != "identity" }
    }

    /// Whether every coding of a `Content-Encoding` is one that the gateway asks for.
    public static func canDecode(_ contentEncoding: String?) -> Bool {
        codings(contentEncoding).allSatisfy(known.contains)
    }

    private static let known: Set<String> = ["gzip", "x-gzip", "deflate", "br", "identity"]

    private static func codings(_ contentEncoding: String?) -> [String] {
        (contentEncoding ?? "").split(separator: ",").map { $0.trimmingFieldSpace.asciiLowercased }
            .filter { !$0.isEmpty }
    }
}
