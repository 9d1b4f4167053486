/// What a token may do: one scope for each group of routes, `read` for every GET of its tenant and
/// nothing else, `metrics` to read how the gateway gets on, `admin` for the gateway as a whole.
public enum Scope: String, CaseIterable, Sendable {
    case sessions, tasks, events, decisions, webhooks, read, metrics, admin

    /// Whether it is about all tenants together: a tenant's own tokens never have it.
    public var isOfGateway: Bool { self == .metrics || self == .admin }
}
