/// What a limit is about.
public enum RateScope: Equatable, Sendable {
    /// Everything that moves.
    case gateway
    /// The tasks of a session.
    case session(String)
    /// One task.
    case task(String)

    var path: String {
        switch self {
        case .gateway: "/v1/gateway"
        case .session(let id): RemoteSession.path(id)
        case .task(let id): RemoteTask.path(id)
        }
    }
}
