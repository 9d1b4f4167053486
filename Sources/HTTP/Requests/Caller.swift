public import Loop

/// For whom the application answers requests. It may be let in no more while some of them are under
/// way: `Server.endRequests`.
@LoopActor
public protocol Caller: AnyObject {
    /// What the log calls `tenant`.
    var tenantNumber: Int64 { get }
}

extension Server {
    /// Ends what is under way for callers that are let in no more: a request without an answer gets
    /// one, an answer that is being sent is cut, and an event stream ends.
    ///
    /// Looks at every connection, so that no request costs anything before it has to be ended.
    ///
    /// - Parameter problem: the answer to a caller that is let in no more; nil for all others.
    public func endRequests(with problem: (any Caller) -> Problem?) {
        for connection in Array(connections.values) {
            for runner in connection.runners where !runner.outlivesCaller {
                if let problem = runner.caller.flatMap(problem) { runner.expel(with: problem) }
            }
        }
    }
}
