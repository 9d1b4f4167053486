internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

extension Service {
    /// A task's content: whole or a part, or followed while it grows (S-41, S-60).
    func readContent(_ call: Call) async throws -> Response {
        let access = try await gateway.content(of: call.task(), of: call.tenant)
        return try await content(access, for: call.request)
    }

    /// `answer=content`: creates the task, waits for its end, and answers with what it fetched
    /// (S-45).
    func answerWithContent(
        _ spec: TaskSpec, _ session: SessionID, _ call: Call
    ) async throws -> Response {
        guard spec.type == .data, spec.resume, spec.options.delivery == .collect else {
            throw Call.invalid(
                "answer", "needs type \"data\", delivery \"collect\" and resume true")
        }
        let id = try await gateway.createTasks([spec], in: session, of: call.tenant)[0].record.id
        // The task's own time-outs bound the wait; a client that leaves ends it, and not the task.
        let view = try await gateway.task(
            id, of: call.tenant, completedWithin: .seconds(31_536_000))
        var response: Response
        if let error = view.record.error {
            response = Response(ProblemCode.transferFailed.problem(error.message).with(error))
        } else if view.record.content == nil {
            response = Response(status: 200, headers: Service.contentHeaders(view.record))
        } else {
            response = try await content(
                gateway.content(of: id, of: call.tenant), for: call.request)
        }
        response.headers.add("Ferry-Task", id.description)
        return response
    }

    private func content(_ access: ContentAccess, for request: Request) async throws -> Response {
        var headers = Service.contentHeaders(access.record)
        let isHead = request.method == "HEAD"
        guard let length = access.length else {
            // A reader is attached only by one who reads.
            if isHead { return Response(status: 200, headers: headers) }
            if request.header("range") != nil { throw Problem(GatewayError.notComplete) }
            return Response(
                status: 200, headers: headers,
                body: .source(ContentSource(try await access.open(nil)), length: nil))
        }
        let tag = EntityTag(opaque: access.record.id.description)
        if let tag { headers.add("ETag", tag.description) }
        headers.add("Accept-Ranges", "bytes")
        let conditions = ContentConditions(
            ifMatch: Service.joined("if-match", request),
            ifNoneMatch: Service.joined("if-none-match", request),
            range: Service.joined("range", request), ifRange: Service.joined("if-range", request))
        switch conditions.answer(isHead: isHead, entityTag: tag, length: length) {
        case .whole:
            if isHead {
                return Response(
                    status: 200, headers: headers, body: .source(NoSource(), length: length))
            }
            return Response(
                status: 200, headers: headers,
                body: .source(ContentSource(try await access.open(nil)), length: length))
        case .partial(let range):
            headers.add("Content-Range", "bytes \(range.first)-\(range.last)/\(length)")
            let stream = try await access.open(range.first..<range.last + 1)
            return Response(
                status: 206, headers: headers,
                body: .source(ContentSource(stream), length: range.count))
        case .notModified:
            return Response(status: 304, headers: headers)
        case .unsatisfiable:
            throw ProblemCode.rangeNotSatisfiable.problem(
                headers: ["Content-Range": "bytes */\(length)"])
        case .preconditionFailed:
            throw ProblemCode.preconditionFailed.problem()
        }
    }

    /// a stranger's bytes are never a page of ours.
    private static func contentHeaders(_ record: TaskRecord) -> HeaderFields {
        let name = record.options.fileName ?? record.response?.suggestedFilename ?? "content"
        var headers: HeaderFields = [
            "Content-Type": record.response?.headers.first("Content-Type").flatMap(mediaType)
                ?? "application/octet-stream",
            "Content-Disposition": ContentDisposition.attachment(named: name),
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "private, no-cache",
        ]
        if let digest = record.content?.digest { headers.add("Repr-Digest", digest) }
        return headers
    }

    /// The origin's media type if it is one.
    private static func mediaType(_ text: String) -> String? {
        MediaType(parsing: text) == nil || HeaderRules.containsControl(text) ? nil : text
    }

    private static func joined(_ name: String, _ request: Request) -> String? {
        let values = request.headers.values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

/// A content as the front door pulls it.
@LoopActor
private final class ContentSource: ByteSource {
    private let stream: ContentStream

    init(_ stream: ContentStream) { self.stream = stream }

    func next() async throws -> [UInt8]? { try await stream.next() }
    func cancel() { stream.cancel() }
}

/// Stands for a content whose length only is told.
@LoopActor
private final class NoSource: ByteSource {
    func next() async throws -> [UInt8]? { nil }
    func cancel() {}
}

/// The field that names a file to be saved (RFC 6266).
enum ContentDisposition {
    /// Makes the browser save the content; a name beyond ASCII is encoded as RFC 8187 says.
    ///
    /// - Parameter name: without control characters and separators.
    /// - Returns: the value of Content-Disposition.
    static func attachment(named name: String) -> String {
        let plain = name.unicodeScalars.allSatisfy {
            $0.isASCII && $0.value >= 0x20 && $0 != "\"" && $0 != "\\" && $0 != "%"
        }
        if plain { return "attachment; filename=\"\(name)\"" }
        var encoded = ""
        for byte in name.utf8 {
            let scalar = Unicode.Scalar(byte)
            if attributeCharacters.contains(scalar) {
                encoded.unicodeScalars.append(scalar)
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return "attachment; filename*=UTF-8''\(encoded)"
    }

    /// RFC 8187 §3.2.1: what stands for itself.
    private static let attributeCharacters = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~".unicodeScalars)
}
