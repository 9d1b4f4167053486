internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// What the delegate at the other end of the event stream is asked, and what it answers (§7).
extension Service {
    /// Those that wait.
    func listDecisions(_ call: Call) async throws -> Response {
        let session = try await session(of: call)
        let records = try await gateway.decisions.pending(in: session, of: call.tenant)
        let isShared = gateway.sessions.isShared(session)
        return await .lists(
            JSONList("decisions", records) { record, json in
                record.write(to: &json, sharedSession: isShared)
            }, capacity: 1024 * records.count + 64)
    }

    /// Those of all the tenant's sessions, the ones that wait where nothing else is asked for.
    func listTenantDecisions(_ call: Call) async throws -> Response {
        var query = DecisionQuery(
            tenant: call.tenant, after: try call.cursor(DecisionID.self),
            limit: try call.number("limit", in: 1...500, default: 100))
        query.states = try call.states() ?? query.states
        let (decisions, next) = try await gateway.decisions.list(query)
        return await .lists(
            JSONList("decisions", decisions) { [gateway] record, json in
                record.write(
                    to: &json, sharedSession: gateway.sessions.isShared(record.session))
            }, capacity: 1024 * decisions.count + 64,
            last: { json in json.member("nextCursor", next?.description) })
    }

    func showDecision(_ call: Call) async throws -> Response {
        let record = try await gateway.decisions.read(call.decision(), of: call.tenant)
        let isShared = gateway.sessions.isShared(record.session)
        return .json(capacity: 1024) { record.write(to: &$0, sharedSession: isShared) }
    }

    /// S-74: the first answer wins.
    func answerDecision(_ call: Call) async throws -> Response {
        let id = try call.decision()
        let record = try await gateway.decisions.read(id, of: call.tenant)
        let draft = try await Call.offLoop(call.jsonBytes() ?? []) { bytes throws(Problem) in
            try AnswerDraft(parsing: bytes)
        }
        let context = TaskContext(
            session: try gateway.sessions.record(record.session, of: call.tenant),
            tenant: call.tenant, gateway: gateway, transport: transport)
        let answer = try await draft.answer(
            to: record, in: context.session, from: RequestSources(of: record.task, in: context))
        try await gateway.decisions.answer(id, of: call.tenant, with: answer)
        return Response(status: 204)
    }
}

extension Call {
    /// The decision that the path names.
    fileprivate func decision() throws(Problem) -> DecisionID {
        guard let id = request.parameters["decision"].flatMap(DecisionID.init) else {
            throw Problem(GatewayError.noSuchDecision)
        }
        return id
    }
}
