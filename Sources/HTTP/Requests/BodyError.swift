/// Why a request body did not arrive whole.
public enum BodyError: Error, Sendable, Equatable {
    /// More bytes than the handler's limit.
    case tooLarge
    /// Slower than its route's pace.
    case tooSlow
    /// The client has gone.
    case disconnected
    /// The chunks are malformed.
    case malformed
    /// The handler wants no more of it (`RequestBody.interrupt`).
    case interrupted

    /// The problem that answers it.
    public var problem: Problem {
        switch self {
        case .tooLarge: .bodyTooLarge
        case .tooSlow: .requestTimeout
        case .disconnected: .malformedRequest("The body ended early.")
        case .malformed: .malformedRequest("The chunked coding is malformed.")
        case .interrupted: .malformedRequest("The body is not wanted.")
        }
    }
}
