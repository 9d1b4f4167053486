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
    /// this one, an answer that is being sent is cut, and an event stream ends.
    ///
    /// Looks at every connection, so that no request costs anything before it has to be ended.
    public func endRequests(with problem: Problem, where isMeant: (any Caller) -> Bool) {
        for connection in Array(connections.values) {
            for runner in connection.runners {
                if !runner.outlivesCaller, let caller = runner.caller, isMeant(caller) {
                    runner.expel(with: problem)
                }
            }
        }
    }
}
