internal import Engine
internal import HTTP
internal import Loop
internal import Semantics

extension Endpoint {
    /// Whether a call is noted in the audit: those for the gateway's admin, but for those that
    /// programs and pages look at all the time, and with those for another tenant's figures.
    func isAudited(_ request: Request) -> Bool {
        if pattern == "/v1/usage" { return request.queryValue("tenant") != nil }
        return access == .scope(.admin) && !(method == "GET" && Endpoint.watched.contains(pattern))
    }

    /// What programs and pages look at all the time.
    private static let watched: Set<String> = ["/v1/gateway", "/v1/nodes", "/v1/nodes/{node}"]
}

extension Service {
    /// Makes a call, and notes how it was answered, where it is one to be noted.
    func audited(
        _ endpoint: Endpoint, _ call: Call,
        _ handler: @LoopActor (Call) async throws -> Response
    ) async throws -> Response {
        guard audit != nil else { return try await handler(call) }
        let status: Int
        let result: Result<Response, any Error>
        do {
            let response = try await handler(call)
            (result, status) = (.success(response), response.status)
        } catch {
            (result, status) = (.failure(error), Service.status(of: error))
        }
        audit(endpoint, call.request, from: call.principal, status: status)
        return try result.get()
    }

    /// Makes what of a call takes more than its route does: the scope `admin`. What is refused for
    /// want of that is noted by its route.
    func auditedAsAdmin(
        _ operation: String, _ call: Call, _ body: @LoopActor () async throws -> Response
    ) async throws -> Response {
        do {
            let response = try await body()
            note(operation, call.request, from: call.principal, status: response.status)
            return response
        } catch {
            let status = Service.status(of: error)
            if status != 403 { note(operation, call.request, from: call.principal, status: status) }
            throw error
        }
    }

    /// Notes a call of the gateway's admin, or one that whoever makes it has not the scope for.
    func audit(_ endpoint: Endpoint, _ request: Request, from principal: Principal, status: Int) {
        guard endpoint.isAudited(request) || status == 403 else { return }
        note(
            "\(endpoint.method) \(endpoint.pattern)", request, from: principal, status: status,
            isWatched: endpoint.pattern == "/v1/usage")
    }

    private func note(
        _ operation: String, _ request: Request, from principal: Principal, status: Int,
        isWatched: Bool = false
    ) {
        guard let audit else { return }
        var entry = AuditEntry(.call(operation), at: clock.now)
        entry.tenant = gateway.tenants.name(of: principal.tenant)
        entry.token = principal.token?.description ?? "file"
        entry.peer = (request.caller as? KnownCaller)?.peer ?? request.peer.address
        entry.request = request.id
        entry.target = Service.target(of: request)
        entry.status = status
        // Whoever may not make a call may try as often as he likes, and pages ask for figures again
        // and again.
        let isRefused = [403, 429].contains(status)
        guard isRefused || isWatched else { return audit.note(entry) }
        audit.note(
            .calls(
                operation: operation, tenant: entry.tenant, token: entry.token ?? "",
                target: isRefused ? nil : entry.target, status: status), entry)
    }

    /// Brings to the audit what is gathered for it: nothing is served any more.
    public func endAudit() { audit?.tellAll() }

    /// What the path names, where it is something that may stand in a line.
    private static func target(of request: Request) -> String? {
        if let name = request.parameters["tenant"] ?? request.queryValue("tenant") {
            return TenantName.isValid(name) ? name : nil
        }
        if let node = request.parameters["node"].flatMap({ Int64($0) }).flatMap(NodeID.init) {
            return String(node.rawValue)
        }
        return request.parameters["token"].flatMap(TokenID.init)?.description
    }

    /// What a client is told, whoever renders it.
    private static func status(of error: any Error) -> Int {
        switch error {
        case let error as Problem: error.status
        case let error as GatewayError: Problem(error).status
        case let error as BodyError: error.problem.status
        default: 500
        }
    }

    /// Has transfers noted that the policy does not let through.
    func auditDenials() {
        guard let audit else { return }
        gateway.onDenied = { [clock, tenants = gateway.tenants] denied in
            var entry = AuditEntry(
                .deniedDestination(host: denied.host, port: denied.port), at: clock.now)
            entry.tenant = tenants.name(of: denied.tenant)
            entry.origin = denied.origin
            audit.note(denied: denied.host, denied.port, of: entry.tenant, entry)
        }
    }
}
