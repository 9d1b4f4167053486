internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// Webhooks: where events are posted to, and what has become of them.
extension Service {
    func createWebhook(_ call: Call) async throws -> Response {
        let bytes = try await call.jsonBytes() ?? []
        let draft = try await Call.reading(bytes) { reader throws(JSONError) in
            try WebhookDraft(new: &reader, withSession: true)
        }
        let spec = try draft.spec(at: "", parse: parse)
        let session = try await session(named: draft.session, of: call)
        let creation = try await call.createOnce(bytes, at: gateway) {
            try await gateway.webhooks.create(spec, of: call.tenant, session: session, as: $0)
        }
        switch creation {
        case .new(let view): return created(view, [:])
        case .earlier(let numbers):
            return created(
                try await earlierWebhook(numbers.first ?? 0, for: call), IdempotencyKey.replayed)
        }
    }

    /// A webhook that an earlier request has made.
    private func earlierWebhook(
        _ number: Int64, for call: Call
    ) async throws(Problem) -> WebhookView {
        try await call.earlier("webhook") { () throws(GatewayError) in
            try gateway.webhooks.read(WebhookID(rawValue: number), of: call.tenant)
        }
    }

    private func created(_ view: WebhookView, _ more: HeaderFields) -> Response {
        var headers: HeaderFields = ["Location": "/v1/webhooks/\(view.record.id)"]
        headers.add(contentsOf: more)
        return .json(201, headers: headers) { writeNew(view, to: &$0) }
    }

    /// The session that a body names; nil for none.
    private func session(named name: String?, of call: Call) async throws -> SessionID? {
        guard let name else { return nil }
        if name == "shared" { return try await gateway.sessions.shared(of: call.tenant) }
        guard let id = SessionID(name), !gateway.sessions.isShared(id) else {
            throw ProblemCode.invalidValue.problem("There is no such session.", at: "/session")
        }
        return id
    }

    /// A webhook as the answer to its creation has it, whose client may have lost the first one.
    /// With its secret, unless that was replaced: the new one was told to who has asked for it.
    func writeNew(_ view: WebhookView, to json: inout JSONWriter) {
        write(view, to: &json, showsSecret: view.record.formerSecret == nil)
    }

    /// A webhook as it is answered; its secret only to whoever has made it.
    func write(_ view: WebhookView, to json: inout JSONWriter, showsSecret: Bool = false) {
        let record = view.record
        json.object { json in
            record.writeMembers(
                to: &json, showsSecret: showsSecret,
                sharedSession: record.session.map(gateway.sessions.isShared) ?? false)
            json.member("lastEvent", record.stream.identifier(of: record.cursor))
            json.member("waitingCount", view.waitingCount)
        }
    }

    func listWebhooks(_ call: Call) async throws -> Response {
        let limit = try call.number("limit", in: 1...500, default: 100)
        let after = try call.cursor(WebhookID.self)
        var views: [WebhookView] = []
        if let name = call.request.queryValue("session") {
            guard name == "shared" || SessionID(name) != nil else {
                throw Call.invalid("session", "must be the id of a session")
            }
            // The shared one may not be there yet.
            if let session = SessionID(name) ?? gateway.sessions.existingShared(of: call.tenant) {
                views = gateway.webhooks.list(
                    of: call.tenant, session: session, after: after, limit: limit + 1)
            }
        } else {
            views = gateway.webhooks.list(of: call.tenant, after: after, limit: limit + 1)
        }
        return await .lists(
            JSONList("webhooks", views.prefix(limit)) { [self] view, json in
                write(view, to: &json)
            },
            last: { json in
                json.member(
                    "nextCursor",
                    views.count > limit ? views[limit - 1].record.id.description : nil)
            })
    }

    func showWebhook(_ call: Call) async throws -> Response {
        let view = try gateway.webhooks.read(call.webhook(), of: call.tenant)
        return .json { write(view, to: &$0) }
    }

    func changeWebhook(_ call: Call) async throws -> Response {
        let id = try call.webhook()
        let draft = try await call.json { reader throws(JSONError) in
            try WebhookDraft(change: &reader)
        }
        let change = try draft.change(parse: parse)
        let view = try await gateway.webhooks.change(id, of: call.tenant, change)
        return .json { write(view, to: &$0) }
    }

    func deleteWebhook(_ call: Call) async throws -> Response {
        try await gateway.webhooks.delete(call.webhook(), of: call.tenant)
        return Response(status: 204)
    }

    /// The new secret is in the answer, and nowhere else.
    func rotateWebhookSecret(_ call: Call) async throws -> Response {
        let view = try await gateway.webhooks.rotateSecret(call.webhook(), of: call.tenant)
        return .json { write(view, to: &$0, showsSecret: true) }
    }

    func testWebhook(_ call: Call) async throws -> Response {
        let result = try await gateway.webhooks.test(call.webhook(), of: call.tenant)
        return .json { json in
            json.object { json in
                result.attempt.writeMembers(to: &json)
                json.member(
                    "body",
                    result.attempt.status == nil
                        ? nil : String(decoding: result.excerpt, as: UTF8.self))
            }
        }
    }

    // MARK: Deliveries

    func listDeliveries(_ call: Call) async throws -> Response {
        let id = try call.webhook()
        let record = try gateway.webhooks.read(id, of: call.tenant).record
        let limit = try call.number("limit", in: 1...500, default: 100)
        var state: DeliveryState?
        if let text = call.request.queryValue("state") {
            state = DeliveryState(rawValue: text)
            guard state != nil else {
                throw Call.invalid("state", "must be pending, delivered or failed")
            }
        }
        var before = Int64.max
        if let cursor = call.request.queryValue("cursor") {
            guard let position = record.stream.position(of: cursor) else {
                throw Call.invalid("cursor", "must be a nextCursor")
            }
            before = position
        }
        let page = try await gateway.webhooks.deliveries(
            id, of: call.tenant, state: state, before: before, limit: limit)
        let (stream, sessions, webhooks) = (record.stream, gateway.sessions, gateway.webhooks)
        return await .lists(
            JSONList("deliveries", page.deliveries) { delivery, json in
                delivery.write(
                    to: &json, identifier: stream.identifier(of: delivery.position),
                    nextAttemptAt: webhooks.nextAttempt(of: delivery),
                    sharedSession: sessions.isShared(delivery.session))
            },
            last: { json in
                json.member("nextCursor", page.next.map(stream.identifier))
            })
    }

    func retryDelivery(_ call: Call) async throws -> Response {
        let id = try call.webhook()
        let record = try gateway.webhooks.read(id, of: call.tenant).record
        guard let event = call.request.parameters["event"],
            let position = record.stream.position(of: event)
        else { throw Problem(GatewayError.noSuchDelivery) }
        try await gateway.webhooks.retry(position, by: id, of: call.tenant)
        return Response(status: 202)
    }

    func replayWebhook(_ call: Call) async throws -> Response {
        let id = try call.webhook()
        let record = try gateway.webhooks.read(id, of: call.tenant).record
        let after = try await call.json { reader throws(JSONError) in
            var after: String?
            try reader.object { reader, name throws(JSONError) in
                guard name == "after" else { throw reader.unknownMember(name) }
                after = try reader.string()
            }
            guard let after else { throw reader.fail("is missing", at: "after") }
            return after
        }
        guard let position = record.stream.position(of: after) else {
            throw ProblemCode.invalidValue.problem(
                "The value must be the id of an event, as its stream or a delivery has it.",
                at: "/after")
        }
        let view = try await gateway.webhooks.replay(id, of: call.tenant, after: position)
        return .json(202) { write(view, to: &$0) }
    }
}

extension Call {
    /// The webhook that the path names.
    fileprivate func webhook() throws(Problem) -> WebhookID {
        guard let id = request.parameters["webhook"].flatMap(WebhookID.init) else {
            throw Problem(GatewayError.noSuchWebhook)
        }
        return id
    }
}
