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
        let bytes = field.value.utf8
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let parts = (bytes[..<slash], bytes[slash...].dropFirst())
        guard !parts.0.isEmpty, !parts.1.isEmpty, parts.0.allSatisfy(Octets.isToken),
            parts.1.allSatisfy(Octets.isToken)
        else { return nil }
        self.mimeType = field.value.asciiLowercased
        self.textEncodingName = field["charset"].flatMap {
            FieldSyntax.isToken($0) ? $0.asciiLowercased : nil
        }
    }

    /// The extension that files of a type usually have, without the dot; nil for types that tell
    /// too little.
    static func fileExtension(of mimeType: String) -> String? {
        switch mimeType {
        case "text/html", "application/xhtml+xml": "html"
        case "text/plain": "txt"
        case "text/css": "css"
        case "text/csv": "csv"
        case "text/markdown": "md"
        case "text/javascript", "application/javascript": "js"
        case "text/xml", "application/xml": "xml"
        case "application/json": "json"
        case "application/pdf": "pdf"
        case "application/zip": "zip"
        case "application/gzip", "application/x-gzip": "gz"
        case "application/x-tar": "tar"
        case "application/wasm": "wasm"
        case "image/png": "png"
        case "image/jpeg": "jpg"
        case "image/gif": "gif"
        case "image/webp": "webp"
        case "image/svg+xml": "svg"
        case "image/avif": "avif"
        case "audio/mpeg": "mp3"
        case "audio/ogg": "ogg"
        case "video/mp4": "mp4"
        case "video/webm": "webm"
        default: nil
        }
    }
}
