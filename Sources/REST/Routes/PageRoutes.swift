internal import CAssets
internal import HTTP
internal import Loop
internal import Semantics
internal import Syntax

extension Service {
    /// The page for people.
    func showPage(_ call: Call) async throws -> Response {
        try page.answer("index.html", to: call.request)
    }

    /// What the page is made of.
    func showPageFile(_ call: Call) async throws -> Response {
        try page.answer(call.request.parameters["file"] ?? "", to: call.request)
    }
}

/// The files of the page, as they are part of the program.
struct PageFiles: Sendable {
    private struct File {
        let mediaType: String
        let bytes: [UInt8]
        let entityTag: EntityTag?
    }

    private let files: [String: File]

    /// - Parameter digest: SHA-256, of which the entity tags are made.
    init(digest: ([UInt8]) -> [UInt8]) {
        var files: [String: File] = [:]
        for file in UnsafeBufferPointer(start: ferry_page_files(), count: ferry_page_file_count) {
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.length))
            let tag = Hex.text(of: digest(bytes).prefix(16))
            files[String(cString: file.name)] = File(
                mediaType: String(cString: file.media_type), bytes: bytes,
                entityTag: EntityTag(opaque: tag))
        }
        self.files = files
    }

    /// The file, or 304 where the browser has it as it is.
    /// - Throws: 404 where there is none of this name.
    @LoopActor
    func answer(_ name: String, to request: Request) throws(Problem) -> Response {
        guard let file = files[name] else { throw Problem.notFound }
        var headers = PageFiles.headers
        headers.add("Content-Type", file.mediaType)
        if let tag = file.entityTag { headers.add("ETag", tag.description) }
        let tags = request.headers.values(of: "if-none-match")
        let conditions = ContentConditions(
            ifNoneMatch: tags.isEmpty ? nil : tags.joined(separator: ", "))
        let length = Int64(file.bytes.count)
        switch conditions.answer(isHead: true, entityTag: file.entityTag, length: length) {
        case .notModified: return Response(status: 304, headers: headers)
        default: return Response(status: 200, headers: headers, body: .bytes(file.bytes))
        }
    }

    /// Nothing but the gateway's own files and answers: no inline script, no other host.
    private static let headers: HeaderFields = [
        "Cache-Control": "no-cache",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
            + " img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    ]
}
