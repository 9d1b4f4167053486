internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

extension Service {
    func createSession(_ call: Call) async throws -> Response {
        let bytes = try await call.jsonBytes() ?? []
        let draft = try await Call.offLoop(bytes) { bytes throws(Problem) in
            try SessionDraft(parsing: bytes)
        }
        let spec = try draft.spec(parse: parse)
        guard spec.webhooks.isEmpty || call.principal.scopes.contains(.webhooks) else {
            throw ProblemCode.forbidden.problem("Webhooks take the scope webhooks.")
        }
        do {
            return try await create(spec, bytes, call)
        } catch let rejoined as Rejoined {
            return try await rejoin(rejoined.session, as: spec, call)
        }
    }

    /// A live background session has the identifier that was asked for.
    private struct Rejoined: Error {
        let session: SessionID
    }

    private func create(
        _ spec: SessionSpec, _ bytes: [UInt8], _ call: Call
    ) async throws -> Response {
        var headers: HeaderFields = [:]
        let view: SessionView
        let webhooks: [WebhookView]
        switch try await call.createOnce(
            bytes, at: gateway,
            { ticket in
                do throws(GatewayError) {
                    return try await gateway.sessions.create(spec, of: call.tenant, as: ticket)
                } catch .identifierInUse(let id) {
                    throw Rejoined(session: id)
                }
            })
        {
        case .new(let created):
            view = created
            webhooks = gateway.webhooks.list(of: call.tenant, session: view.record.id)
        case .earlier(let numbers):
            view = try await session(numbers.first ?? 0, for: call)
            webhooks = numbers.dropFirst().compactMap {
                try? gateway.webhooks.read(WebhookID(rawValue: $0), of: call.tenant)
            }
            headers = IdempotencyKey.replayed
        }
        headers.add("Location", "/v1/sessions/\(view.record.shownID)")
        // The secrets of webhooks that are made with it are shown here only.
        return .json(201, headers: headers, capacity: 2048) { json in
            view.write(to: &json) { json in
                guard !webhooks.isEmpty else { return }
                json.array("webhooks") { json in
                    for webhook in webhooks { writeNew(webhook, to: &json) }
                }
            }
        }
    }

    /// S-6: who asks for a session that is there gets it, if it is what was asked for.
    private func rejoin(
        _ id: SessionID, as spec: SessionSpec, _ call: Call
    ) async throws(Problem) -> Response {
        let view: SessionView
        do throws(GatewayError) {
            view = try await gateway.sessions.read(id, of: call.tenant)
        } catch {
            throw Problem(error)
        }
        let webhooks = gateway.webhooks.list(of: call.tenant, session: id).map(\.record)
        if let pointer = SessionShape.difference(of: spec, from: view.record, webhooks) {
            throw ProblemCode.identifierInUse.problem(
                "The session that has the identifier was created with another value.", at: pointer)
        }
        return .json(200, headers: ["Location": "/v1/sessions/\(view.record.shownID)"]) {
            view.write(to: &$0)
        }
    }

    /// A session that an earlier request has created.
    private func session(_ number: Int64, for call: Call) async throws(Problem) -> SessionView {
        try await call.earlier("session") { () throws(GatewayError) in
            try await gateway.sessions.read(SessionID(rawValue: number), of: call.tenant)
        }
    }

    func listSessions(_ call: Call) async throws -> Response {
        var query = SessionQuery(
            after: try call.cursor(SessionID.self),
            limit: try call.number("limit", in: 1...500, default: 100))
        query.states = try call.states() ?? query.states
        query.order = try call.order()
        query.text = try call.searchText()
        query.metadata = try call.metadataFilter()
        if let identifier = call.request.queryValue("identifier") {
            guard SessionDraft.isIdentifier(identifier) else {
                throw Call.invalid(
                    "identifier", "must be 1 to 255 bytes without control characters")
            }
            let view = try await gateway.sessions.find(identifier, of: call.tenant)
            return await .lists(
                JSONList("sessions", [view].compactMap { $0 }.filter { query.fits($0.record) }[...])
                { view, json in
                    view.write(to: &json)
                },
                last: { json in json.member("nextCursor", String?.none) })
        }
        // A full disk has no room to make it: then it is not there yet.
        if gateway.takesWork { _ = try await gateway.sessions.shared(of: call.tenant) }
        let list = try await gateway.sessions.list(query, of: call.tenant)
        return await .lists(
            JSONList("sessions", list.views) { view, json in view.write(to: &json) },
            last: { json in json.member("nextCursor", list.next?.description) })
    }

    func showSession(_ call: Call) async throws -> Response {
        let view = try await gateway.sessions.read(session(of: call), of: call.tenant)
        return .json { view.write(to: &$0) }
    }

    /// S-5: what is not configuration can change, nothing else.
    func changeSession(_ call: Call) async throws -> Response {
        let id = try await session(of: call)
        let (update, other) = try await call.json { reader throws(JSONError) in
            var update = SessionUpdate()
            var other: String?
            try reader.object { reader, name throws(JSONError) in
                switch name {
                case "description": update.description = .some(try reader.clientDescription())
                case "maximumBytesPerSecond":
                    update.maximumBytesPerSecond = .some(try reader.byteRate())
                case "metadata": update.metadata = try reader.metadataPatch()
                case "type", "configuration", "delegate", "identifier":
                    try reader.skipValue()
                    other = other ?? name
                default: throw reader.unknownMember(name)
                }
            }
            return (update, other)
        }
        if let other { throw ProblemCode.sessionImmutable.problem(at: "/" + other) }
        let view =
            update.isEmpty
            ? try await gateway.sessions.read(id, of: call.tenant)
            : try await gateway.sessions.change(id, of: call.tenant, update)
        return .json { view.write(to: &$0) }
    }

    /// S-9, S-10.
    func invalidateSession(_ call: Call) async throws -> Response {
        let id = try await session(of: call)
        let mode = try await call.json { reader throws(JSONError) in
            var mode: InvalidationMode?
            try reader.object { reader, name throws(JSONError) in
                guard name == "mode" else { throw reader.unknownMember(name) }
                mode = InvalidationMode(rawValue: try reader.string())
                if mode == nil { throw reader.fail("must be \"finishTasks\" or \"cancelTasks\"") }
            }
            guard let mode else { throw reader.fail("is missing", at: "mode") }
            return mode
        }
        try await gateway.sessions.invalidate(id, of: call.tenant, mode)
        let view = try await gateway.sessions.read(id, of: call.tenant)
        return .json(202) { view.write(to: &$0) }
    }

    /// The session that the path names; `shared` is the tenant's own (S-4).
    func session(of call: Call) async throws -> SessionID {
        try await session(named: call.request.parameters["session"] ?? "", of: call.tenant)
    }

    /// The session that a client names so.
    func session(named name: String, of tenant: TenantID) async throws -> SessionID {
        if name == "shared" { return try await gateway.sessions.shared(of: tenant) }
        guard let id = SessionID(name), !gateway.sessions.isShared(id) else {
            throw Problem(GatewayError.noSuchSession)
        }
        return id
    }
}
