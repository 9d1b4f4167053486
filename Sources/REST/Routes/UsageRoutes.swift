internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

extension Service {
    /// What the caller's tenant, or another one, uses of its quotas.
    func showUsage(_ call: Call) async throws -> Response {
        let tenant = try tenant(of: call)
        let usage = await gateway.quotas.usage(of: tenant)
        return .json { json in
            json.object { json in
                json.object("quotas") { json in
                    for item in usage.items {
                        json.name(named: item.quota.rawValue)
                        json.object { json in
                            json.member("used", item.used)
                            json.member("limit", item.limit)
                        }
                    }
                }
            }
        }
    }

    /// Whose usage is asked for: another tenant's figures are for the administrator only.
    private func tenant(of call: Call) throws(Problem) -> TenantID {
        guard let text = call.request.queryValue("tenant") else { return call.tenant }
        guard call.principal.scopes.contains(.admin), call.tenant == .operatorTenant else {
            throw ProblemCode.forbidden.problem(
                "The figures of other tenants take the scope admin.")
        }
        do throws(GatewayError) {
            return try gateway.tenants.read(text).id
        } catch {
            throw Problem(error)
        }
    }
}

extension Problem {
    /// More of something than a quota allows. The pointer is one into `GET /v1/usage`.
    init(_ quota: TenantQuotas.Quota, limit: Int64) {
        let pointer = "/quotas/\(quota.rawValue)"
        self = ProblemCode.quotaExceeded.problem(quota.refusal(limit), at: pointer)
        // 507 is for what has no room (RFC 4918 §11.5), 429 for what is too much (RFC 6585 §4).
        if quota != .storedBytes, quota != .stagedBytes { status = 429 }
        // Who may make none has nothing to wait for.
        if quota == .requestsPerSecond, limit > 0 { headers.add("Retry-After", "1") }
        self = with("quota", quota.rawValue).with("limit", limit)
    }
}

extension TenantQuotas.Quota {
    /// Why there is no more, and what makes room.
    fileprivate func refusal(_ limit: Int64) -> String {
        switch self {
        case .sessions:
            "The tenant may have \(limit) sessions. Invalidate those that are not needed."
        case .outstandingTasks:
            "The tenant may have \(limit) tasks that have not ended. Cancel some, or wait for them."
        case .runningAttempts: "The tenant may have \(limit) exchanges with origins at a time."
        case .storedBytes:
            """
            The tenant may store \(limit) bytes of results, parts of downloads, caches and staged \
            files. Delete tasks and files that are not needed, or reset sessions.
            """
        case .stagedBytes:
            "The tenant's staged files may have \(limit) bytes. Delete those that are not needed."
        case .eventStreams: "The tenant may have \(limit) event streams open. Close some."
        case .webhooks: "The tenant may have \(limit) webhooks. Delete those that are not needed."
        case .requestsPerSecond: "The tenant may send \(limit) requests a second."
        case .bytesPerSecond: "The tenant's transfers may move \(limit) bytes a second."
        }
    }
}
