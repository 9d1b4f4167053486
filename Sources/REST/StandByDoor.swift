public import HTTP
public import Loop

/// What a gateway answers that waits for its turn at a database: that it lives, and that it does
/// not serve yet.
@LoopActor
public enum StandByDoor {
    private static let words = "This gateway stands by: another one has the database."

    /// A server that answers `GET /healthz` as a gateway does, and 503 to all else, whoever asks.
    public static func server() throws -> Server {
        Server(
            router: try Router([Route("GET", "/healthz") { _ in Service.healthy }]),
            checks: { request in
                let problem = Problem.unavailable(because: words)
                switch request.path {
                case "/healthz": return nil
                case "/readyz": return problem.with("checks", Readiness(startFault: words))
                default: return problem
                }
            },
            failure: { error, _ in
                Response(error as? Problem ?? .unavailable(because: words))
            })
    }
}
