internal import Syntax

/// What a `Content-Type` tells (RFC 9110 §8.3.1), as NSURLResponse shows it.
public struct MediaType: Hashable, Sendable {
    /// Type and subtype in lower case, such as `text/html`.
    public let mimeType: String
    /// The `charset` in lower case, such as `utf-8`; nil without one.
    public let textEncodingName: String?

    /// Reads a `Content-Type`; nil where it does not begin with `type/subtype`, or has more than 8
    /// KiB.
    public init?(parsing text: String) {
        guard text.utf8.count <= FieldSyntax.byteLimit else { return nil }
        let field = FieldParameters(parsing: text)
        guard Self.isType(field.value.utf8Span.span) else { return nil }
        self.mimeType = field.value.asciiLowercased
        self.textEncodingName = field["charset"].flatMap {
            FieldSyntax.isToken($0) ? $0.asciiLowercased : nil
        }
    }

    /// Whether these bytes are `type/subtype`.
    private static func isType(_ bytes: borrowing Span<UInt8>) -> Bool {
        var slash: Int?
        for index in bytes.indices where !Octets.isToken(bytes[index]) {
            guard bytes[index] == Octets.slash, slash == nil, index > 0 else { return false }
            slash = index
        }
        return slash.map { $0 < bytes.count - 1 } ?? false
    }

    /// The extension that files of a type usually have, without the dot; nil for types that tell
    /// too little.
    static func fileExtension(of mimeType: String) -> String? { fileExtensions[mimeType] }

    private static let fileExtensions = [
        "text/html": "html",
        "application/xhtml+xml": "html",
        "text/plain": "txt",
        "text/css": "css",
        "text/csv": "csv",
        "text/markdown": "md",
        "text/javascript": "js",
        "application/javascript": "js",
        "text/xml": "xml",
        "application/xml": "xml",
        "application/json": "json",
        "application/pdf": "pdf",
        "application/zip": "zip",
        "application/gzip": "gz",
        "application/x-gzip": "gz",
        "application/x-tar": "tar",
        "application/wasm": "wasm",
        "image/png": "png",
        "image/jpeg": "jpg",
        "image/gif": "gif",
        "image/webp": "webp",
        "image/svg+xml": "svg",
        "image/avif": "avif",
        "audio/mpeg": "mp3",
        "audio/ogg": "ogg",
        "video/mp4": "mp4",
        "video/webm": "webm",
    ]
}
