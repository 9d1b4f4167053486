/// How the descriptors that the process may have are divided, so that none is promised twice.
struct DescriptorShares {
    /// Attempts at a time: each takes a socket, and may take a file.
    let attempts: Int
    /// Connections of clients: every other one may be reading a file, or writing one.
    let connections: Int

    /// - Parameter count: how many descriptors there are.
    init(of count: Int) {
        // The store, the loop, the sessions' own, names that are looked up, and connections that origins keep open.
        let others = max(48, count / 8)
        let rest = max(16, count - others)
        attempts = min(16_384, rest / 4)
        connections = (rest - 2 * (rest / 4)) * 2 / 3
    }
}
