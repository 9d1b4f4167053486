internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// Tenants, and the tokens that let clients call for them: for the gateway's admin.
extension Service {
    func createTenant(_ call: Call) async throws -> Response {
        let draft = try await call.json { reader throws(JSONError) in
            try TenantDraft(new: &reader)
        }
        guard let spec = draft.spec else { throw ProblemCode.internal.problem() }
        let record = try await gateway.tenants.create(spec)
        return .json(201, headers: ["Location": "/v1/tenants/\(record.name)"]) {
            record.write(to: &$0)
        }
    }

    func listTenants(_ call: Call) async throws -> Response {
        let limit = try call.number("limit", in: 1...500, default: 100)
        // A tenant may be gone, and its name be another's, when the next page is asked for.
        let after = try call.request.queryValue("cursor").map { text throws(Problem) in
            guard let number = Int64(text), number > 0, String(number) == text else {
                throw Call.invalid("cursor", "must be a nextCursor")
            }
            return TenantID(rawValue: number)
        }
        let page = gateway.tenants.list(after: after, limit: limit)
        return await .lists(
            JSONList("tenants", page.records[...]) { record, json in record.write(to: &json) },
            last: { json in
                if !page.damaged.isEmpty {
                    json.array("damaged") { json in
                        for name in page.damaged { json.string(name) }
                    }
                }
                json.member("nextCursor", page.next.map { String($0.rawValue) })
            })
    }

    func showTenant(_ call: Call) async throws -> Response {
        let record = try gateway.tenants.read(call.tenantName)
        return .json { record.write(to: &$0) }
    }

    func changeTenant(_ call: Call) async throws -> Response {
        let draft = try await call.json { reader throws(JSONError) in
            try TenantDraft(change: &reader)
        }
        if call.tenantName == TenantName.ofOperator, draft.change.quotas[.requestsPerSecond] == 0 {
            throw ProblemCode.invalidValue.problem(
                "The tenant \(TenantName.ofOperator) is the operator's own: without requests it would be"
                    + " locked out.", at: "/quotas/requestsPerSecond")
        }
        let record = try await gateway.tenants.change(call.tenantName, draft.change)
        return .json { record.write(to: &$0) }
    }

    /// What the tenant has goes afterwards: the tenant is shown until nothing is left of it.
    func deleteTenant(_ call: Call) async throws -> Response {
        let record = try await gateway.tenants.delete(call.tenantName)
        return .json(202) { record.write(to: &$0) }
    }

    // MARK: Tokens

    /// The token is in the answer, and nowhere else.
    func createToken(_ call: Call) async throws -> Response {
        let draft = try await call.json { reader throws(JSONError) in try TokenDraft(&reader) }
        if draft.tenant != TenantName.ofOperator, draft.scopes.contains(where: \.isOfGateway) {
            throw ProblemCode.invalidValue.problem(
                "The scopes admin and metrics are for tokens of the tenant default only.",
                at: "/scopes")
        }
        if let expiresAt = draft.expiresAt, expiresAt <= clock.now {
            throw ProblemCode.invalidValue.problem(
                "The value must be in the future.", at: "/expiresAt")
        }
        let token = AccessToken.make()
        var spec = TokenSpec(
            tenant: draft.tenant, scopes: draft.scopes,
            digest: options.tokens.digest(Array(token.text.utf8)))
        spec.expiresAt = draft.expiresAt
        spec.description = draft.description
        let view = try await make(spec)
        return .json(201, headers: ["Location": "/v1/tokens/\(view.record.id)"]) { json in
            json.object { json in
                view.record.writeMembers(to: &json, tenant: view.tenant)
                json.member("token", token.text)
            }
        }
    }

    private func make(_ spec: TokenSpec) async throws(Problem) -> TokenView {
        do throws(GatewayError) {
            return try await gateway.tokens.create(spec)
        } catch .noSuchTenant {
            throw ProblemCode.invalidValue.problem("There is no such tenant.", at: "/tenant")
        } catch {
            throw Problem(error)
        }
    }

    func listTokens(_ call: Call) async throws -> Response {
        let limit = try call.number("limit", in: 1...500, default: 100)
        let after = try call.cursor(TokenID.self)
        var tenant: TenantID?
        if let name = call.request.queryValue("tenant") {
            tenant = try gateway.tenants.read(name).id
        }
        let views = gateway.tokens.list(of: tenant, after: after, limit: limit + 1)
        return await .lists(
            JSONList("tokens", views.prefix(limit)) { view, json in view.write(to: &json) },
            last: { json in
                json.member(
                    "nextCursor",
                    views.count > limit ? views[limit - 1].record.id.description : nil)
            })
    }

    func showToken(_ call: Call) async throws -> Response {
        let view = try gateway.tokens.read(call.token())
        return .json { view.write(to: &$0) }
    }

    func deleteToken(_ call: Call) async throws -> Response {
        // It may be the caller's own.
        call.request.outliveCaller()
        try await gateway.tokens.delete(call.token())
        return Response(status: 204)
    }
}

extension TokenView {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { record.writeMembers(to: &$0, tenant: tenant) }
    }
}

extension Call {
    /// The tenant that the path names.
    fileprivate var tenantName: String { request.parameters["tenant"] ?? "" }

    /// The token that the path names.
    fileprivate func token() throws(Problem) -> TokenID {
        guard let id = request.parameters["token"].flatMap(TokenID.init) else {
            throw Problem(GatewayError.noSuchToken)
        }
        return id
    }
}
