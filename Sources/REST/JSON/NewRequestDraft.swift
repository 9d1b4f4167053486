internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// The request that a decision puts in place of the proposed one (`NewRequest` of openapi.yaml),
/// read but not judged: a whole request, or what the event has shown, changed or not (S-79, S-80).
struct NewRequestDraft {
    private enum Body {
        /// As proposed, if the method has one.
        case proposed
        case none
        /// That of the request that was redirected.
        case original
        case new(BodyDraft)
    }

    private var request: RequestDraft
    private var body = Body.proposed

    init(_ reader: inout JSONReader) throws(JSONError) {
        var body = Body.proposed
        request = try RequestDraft(
            &reader, url: { r throws(JSONError) in try r.shownURLText() }
        ) { reader, name throws(JSONError) in
            switch name {
            case "body": body = try NewRequestDraft.body(&reader)
            case "bodyLength": _ = try reader.int64(in: unknownSize ... .max)
            default: return false
            }
            return true
        }
        self.body = body
    }

    private static func body(_ reader: inout JSONReader) throws(JSONError) -> Body {
        switch try reader.peekKind() {
        case .null:
            try reader.skipValue()
            return .none
        case .string:
            guard try reader.string() == "original" else {
                throw reader.fail("must be \"original\", an object or null")
            }
            return .original
        default: return try BodyDraft(&reader, orShown: true).map(Body.new) ?? .proposed
        }
    }

    /// The request that is meant.
    ///
    /// - Parameters:
    ///   - pointer: where the description stands.
    ///   - proposed: what the event has shown; its method, its body and what it hides count where
    ///     nothing else is said.
    ///   - session: whose decision it is.
    ///   - sources: what the request is made from.
    /// - Returns: the request, with every member checked.
    /// - Throws: the 422 of the first member that is wrong.
    @LoopActor
    func record(
        at pointer: String, inPlaceOf proposed: RequestRecord, in session: SessionRecord,
        from sources: RequestSources
    ) async throws(Problem) -> RequestRecord {
        var draft = request
        draft.sensitiveHeaders += proposed.sensitiveHeaders.filter { name in
            !request.sensitiveHeaders.contains { $0.lowercased() == name.lowercased() }
        }
        let url: WebURL
        do {
            // What cannot be fetched is shown, and may be given back (S-81).
            url = draft.url == proposed.url.string ? proposed.url : try sources.parse(draft.url)
        } catch {
            throw Problem(error, at: pointer + "/url")
        }
        // What is hidden was meant for that origin.
        if url.origin == proposed.url.origin { draft.restoreHeaders(from: proposed) }
        let joining =
            session.configuration.httpAdditionalHeaders.fields.map(\.name)
            + proposed.headers.fields.map(\.name) + proposed.sensitiveHeaders
        var record = try draft.record(
            at: pointer, method: proposed.method, joining: joining
        ) { _ in url }
        let hasBody = !["GET", "HEAD"].contains(record.method)
        switch body {
        case .none: break
        case .proposed:
            guard hasBody, let body = proposed.body else { break }
            record.body = body
            record.describeBody(proposed.headers.first("Content-Type"), in: session)
        case .original:
            try refuse(unless: hasBody, record.method, at: pointer)
            let redirected = try await sources.current()
            record.body = redirected.body
            record.describeBody(redirected.headers.first("Content-Type"), in: session)
        case .new(let draft):
            try refuse(unless: hasBody, record.method, at: pointer)
            let (body, type) = try await sources.body(draft, pointer + "/body")
            record.body = body
            record.describeBody(type, in: session)
        }
        record.body = try request.body(record.body, at: pointer)
        return record
    }

    private func refuse(
        unless hasBody: Bool, _ method: String, at pointer: String
    ) throws(Problem) {
        guard !hasBody else { return }
        throw ProblemCode.invalidValue.problem(
            "A \(method) request has no body; name another method.", at: pointer + "/body")
    }
}

/// What the request of an answer is made from.
struct RequestSources {
    /// The one parser of URLs.
    let parse: (String) throws(URLRejection) -> WebURL
    /// The request that waits for the answer, or was redirected.
    let current: @LoopActor () async throws(Problem) -> RequestRecord
    /// A body, with its media type; the text is a pointer to its description.
    let body: @LoopActor (BodyDraft, String) async throws(Problem) -> (BodyRecord, String?)
}

extension RequestSources {
    /// Those of a task.
    @LoopActor
    init(of task: TaskID, in context: TaskContext) {
        parse = { text throws(URLRejection) in try context.transport.parse(text) }
        current = { () throws(Problem) in
            do throws(GatewayError) {
                return try await context.gateway.tasks.read(task, of: context.tenant).record
                    .currentRequest
            } catch {
                throw Problem(error)
            }
        }
        body = { draft, pointer throws(Problem) in
            try await draft.record(at: pointer, in: context)
        }
    }
}

extension RequestDraft {
    /// Puts the proposed values in place of what hides them (S-80).
    fileprivate mutating func restoreHeaders(from proposed: RequestRecord) {
        let hidden = SensitiveNames(marking: proposed.sensitiveHeaders)
        var counts: [String: Int] = [:]
        var restored = HeaderList()
        for field in headers.fields {
            var value = field.value
            if value == redacted, hidden.contains(field.name) {
                let values = proposed.headers.values(of: field.name)
                let index = counts[field.name.lowercased(), default: 0]
                counts[field.name.lowercased()] = index + 1
                if index < values.count { value = values[index] }
            }
            restored.append(field.name, value)
        }
        headers = restored
    }
}

extension RequestRecord {
    /// Names the media type of the body, where neither the request nor its session does (S-38).
    mutating func describeBody(_ mediaType: String?, in session: SessionRecord) {
        guard let mediaType, !headers.contains("Content-Type"),
            !session.configuration.httpAdditionalHeaders.contains("Content-Type")
        else { return }
        headers.append("Content-Type", mediaType)
    }
}
