package import Engine
package import Semantics

extension SealContext {
    /// An event's payload.
    package static func event(_ sequence: Int64, of session: SessionID, tenant: TenantID)
        -> SealContext
    {
        SealContext(tenant: tenant, owner: session.rawValue, field: "event \(sequence)")
    }

    /// A session's configuration.
    package static func constants(of session: SessionID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: session.rawValue, field: "constants")
    }

    /// A task's original request.
    package static func request(of task: TaskID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: task.rawValue, field: "request")
    }

    /// A task's status.
    package static func status(of task: TaskID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: task.rawValue, field: "status")
    }

    /// A content.
    package static func content(of task: TaskID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: task.rawValue, field: "content")
    }

    /// A decision's question.
    package static func question(of decision: DecisionID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: decision.rawValue, field: "question")
    }

    /// A cookie or a credential, by the name of its table.
    package static func item(
        _ number: Int64, in table: String, of session: SessionID, tenant: TenantID
    ) -> SealContext {
        SealContext(tenant: tenant, owner: session.rawValue, field: "\(table) \(number)")
    }

    /// What is known of a stored response beside its content.
    package static func metadata(
        of entry: CacheEntryID, in session: SessionID, tenant: TenantID
    ) -> SealContext {
        SealContext(
            tenant: tenant, owner: session.rawValue, field: "cache metadata \(entry.rawValue)")
    }

    /// The content of a stored response.
    package static func content(
        of entry: CacheEntryID, in session: SessionID, tenant: TenantID
    ) -> SealContext {
        SealContext(
            tenant: tenant, owner: session.rawValue, field: "cache content \(entry.rawValue)")
    }

    /// A webhook's address and secrets.
    package static func webhook(_ webhook: WebhookID, tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: webhook.rawValue, field: "webhook")
    }

    /// The fingerprint of a request with an idempotency key.
    package static func creation(_ key: String, of tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: 0, field: "creation \(key)")
    }
}
