public import Semantics

/// A transfer that the policy, or what it leaves to the tenant, has not let through.
public struct DeniedDestination: Sendable {
    /// Whose it was.
    public let tenant: TenantID
    /// The ids of what it belongs to: a session and a task, or a webhook.
    public let origin: [String]
    /// What the URL says, and nothing behind it.
    public let host: String
    /// The port.
    public let port: Int
}
