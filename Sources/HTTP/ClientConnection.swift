internal import Loop

/// A client's connection, as its server knows it.
@LoopActor
protocol ClientConnection: WireOwner {
    /// Bytes that wait to be sent.
    var queued: Int { get }

    /// Whether nothing of a request is here, and nothing of an answer is under way.
    var isResting: Bool { get }

    /// Since when it has rested, if it rests.
    var restingSince: Uptime { get }

    /// What has requests under way.
    var runners: [RequestRunner] { get }

    /// Whether its client has taken nothing of what waits for it for so long.
    func hasStalled(for limit: Duration, at now: Uptime) -> Bool

    /// Ends everything at once.
    func close()

    /// The server is about to stop: what runs may end, streams of events end now, and nothing new
    /// begins.
    func drain()
}
