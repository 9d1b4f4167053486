/// How the descriptors that the process may have are divided: fixed shares, so that none is
/// promised twice, and nobody has to wait for another's.
///
/// - An eighth of all, and 48 at least, is for the store, the loop, names that are looked up, and
///   contents on S3.
/// - Half of the rest is for attempts. Each needs two, a socket and a file, and a session's first
///   two more, for its handle on the network. What running attempts leave of the half is for
///   connections that are kept for later ones, which are given up as soon as it is used up.
/// - The other half is for clients: of their connections, every other one may be reading a file, or
///   writing one, or be answered by another node over a connection to that one. Those that wait for
///   nothing make room for new ones.
///
/// One count of all in place of shares could lend more to one side; it would have to take that back
/// from transfers that last for days, or from clients in the middle of a request.
///
/// Whatever needs a descriptor beyond its share, as where the whole system has none left, waits and
/// tries again.
struct DescriptorShares {
    /// Connections for contents on S3, those in use and those kept.
    static let contents = 26

    /// Attempts at a time; a session's first counts for `firstAttemptCost`.
    let attempts: Int
    let firstAttemptCost = 2
    /// Connections to origins, with what belongs to them.
    let origins: Int
    /// Connections of clients.
    let connections: Int
    /// Connections to other nodes.
    let nodes: Int

    /// - Parameter count: how many descriptors there are.
    init(of count: Int) {
        let others = max(48, count / 8)
        let half = max(16, count - others) / 2
        attempts = min(16_384, half / 2)
        origins = half / 2
        connections = half * 2 / 3
        nodes = half / 3
    }
}
