public import Loop

/// Where events older than a log's memory come from.
@LoopActor
public protocol EventHistory: AnyObject {
    /// A page of the stream's numbered events, in ascending order.
    ///
    /// What was appended to the log has to be found here: save before you publish. Keep a page
    /// below 128 KiB of data, so that a reader stays within its share of memory.
    ///
    /// - Parameters:
    ///   - position: Only events after it.
    ///   - through: Only events up to and with it; nil has no end.
    ///   - limit: The most events of a page.
    /// - Returns: At least one event if there is any; none means that nothing is left in the range.
    /// - Throws: Whatever went wrong; the reader's stream is cut and its client comes back.
    func page(
        after position: Int64, through: Int64?, limit: Int
    ) async throws -> [EncodedEvent]
}

/// One reader's wish to follow a log: the body of a response.
///
/// The server adds the fields of an event stream and its first line, `retry: 2000`.
public struct EventSubscription {
    let log: EventLog
    let after: Int64
    let history: (any EventHistory)?
    let opening: [UInt8]

    /// Makes a subscription.
    ///
    /// - Parameters:
    ///   - log: What is followed.
    ///   - after: The reader has seen the stream up to this position; `log.lastPosition` is live
    ///     only.
    ///   - history: Asked for what the log no longer has. Without it, a reader that has fallen
    ///     behind the log is cut.
    ///   - opening: Formatted events that go out before all others, such as a `reset`.
    public init(
        log: EventLog, after: Int64, history: (any EventHistory)?, opening: [UInt8] = []
    ) {
        self.log = log
        self.after = after
        self.history = history
        self.opening = opening
    }
}
