internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics
internal import Syntax

extension Service {
    /// A task's content: whole or a part, or followed while it grows (S-41, S-60).
    func readContent(_ call: Call) async throws -> Response {
        let access = try await gateway.contents.access(to: call.task(), of: call.tenant)
        return try await content(access, for: call.request)
    }

    /// `answer=content`: creates the task, waits for its end, and answers with what it fetched
    /// (S-45).
    func answerWithContent(
        _ spec: TaskSpec, _ session: SessionID, _ call: Call
    ) async throws -> Response {
        guard spec.type != .download, spec.resume, spec.options.delivery == .collect else {
            throw Call.invalid(
                "answer",
                "needs type \"data\" or \"upload\", delivery \"collect\" and resume true")
        }
        var spec = spec
        spec.options.hasCompletionHandler = true
        let created = try await gateway.tasks.create(
            [spec], in: session, of: call.tenant, if: { call.isWanted })
        let id = created[0].record.id
        do {
            var response = try await contentAtEnd(of: id, call)
            response.headers.add("Ferry-Task", id.description)
            return response
        } catch {
            // There is a task, whatever becomes of the answer.
            var problem = problem(for: error)
            problem.headers.add("Ferry-Task", id.description)
            throw problem
        }
    }

    private func contentAtEnd(of id: TaskID, _ call: Call) async throws -> Response {
        // The task's own time-outs bound the wait; a client that leaves ends it, and not the task.
        let view = try await gateway.tasks.wait(
            for: id, of: call.tenant, within: .seconds(31_536_000))
        guard view.record.state == .completed else {
            throw Task.isCancelled ? Service.clientHasLeft : Service.stops
        }
        var answer = try await outcome(of: view.record, for: call)
        // An origin's error is a content, too.
        if let status = view.record.response?.status {
            answer.headers.add("Ferry-Response-Status", String(status))
        }
        return answer
    }

    private func outcome(of task: TaskRecord, for call: Call) async throws -> Response {
        if let error = task.error {
            return Response(ProblemCode.transferFailed.problem(error.message).with(error))
        }
        guard task.content != nil else {
            return Response(status: 200, headers: Service.contentHeaders(task))
        }
        return try await content(
            gateway.contents.access(to: task.id, of: call.tenant), for: call.request)
    }

    /// Nobody is waited for any more.
    private static let stops = Problem.unavailable(
        because: "The gateway stops before the task has ended.")

    /// Reaches a client only that has ended its own half of the connection.
    private static let clientHasLeft = Problem.unavailable(
        because: "The client ended its side of the connection before the task had ended.")

    private func content(_ access: ContentAccess, for request: Request) async throws -> Response {
        let headers = Service.contentHeaders(access.record)
        guard let length = access.length else {
            // What still comes has no entity tag (RFC 9110 §13.1.1).
            if let tags = request.header("if-match"), tags != "*" {
                throw ProblemCode.preconditionFailed.problem()
            }
            // A reader is attached only by one who reads.
            if request.method == "HEAD" {
                // Nobody knows how long it is.
                return Response(
                    status: 200, headers: headers, body: .source(NoBytes(), length: nil))
            }
            if request.header("range") != nil { throw Problem(GatewayError.notComplete) }
            return Response(
                status: 200, headers: headers,
                body: .source(ContentBytes(try await access.open(nil)), length: nil))
        }
        let content = RangedContent(
            headers: headers, entityTag: EntityTag(opaque: access.record.id.description),
            length: length, open: { try await access.open($0) })
        return try await content.answer(to: request)
    }

    private static func contentHeaders(_ record: TaskRecord) -> HeaderFields {
        .ofStrangersBytes(
            record.response?.headers.first("Content-Type").flatMap(mediaType),
            named: record.options.fileName ?? record.response?.suggestedFilename ?? "content",
            digest: record.content?.digest)
    }

    /// The origin's media type if it is one.
    private static func mediaType(_ text: String) -> String? {
        MediaType(parsing: text) == nil || HeaderRules.containsControl(text) ? nil : text
    }
}

extension HeaderFields {
    /// a stranger's bytes are never a page of ours. The name is without control characters
    /// and separators; the digest is the value of Repr-Digest.
    static func ofStrangersBytes(
        _ mediaType: String?, named name: String, digest: String?
    ) -> HeaderFields {
        var headers: HeaderFields = [
            "Content-Type": mediaType ?? "application/octet-stream",
            "Content-Disposition": ContentDisposition.attachment(named: name),
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "private, no-cache",
        ]
        if let digest { headers.add("Repr-Digest", digest) }
        return headers
    }
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
        let encoded = PercentCoding.text(encoding: name.utf8, keeping: Octets.isAttribute)
        return "attachment; filename*=UTF-8''\(encoded)"
    }
}
