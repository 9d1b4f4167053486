internal import Semantics

extension EventStreamKey {
    /// The id of a position of this stream; opaque to clients.
    public func identifier(of position: Int64) -> String { identifierPrefix + String(position) }

    /// What the ids of all positions of this stream begin with.
    public var identifierPrefix: String {
        switch self {
        case .session(let session), .task(_, let session): "\(session.rawValue)."
        case .tenant: "t."
        }
    }

    /// The position that an id names, or nil if it is no id of this stream.
    ///
    /// Clients send what they like: what is returned has a next one, and one before it.
    public func position(of identifier: String) -> Int64? {
        let parts = identifier.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let position = Int64(parts[1]),
            (0..<Int64.max).contains(position), self.identifier(of: position) == identifier
        else { return nil }
        return position
    }
}
