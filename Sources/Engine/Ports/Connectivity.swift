public import Loop

/// Tells when this machine's ways to others may have changed (S-26).
@LoopActor
public protocol Connectivity: AnyObject {
    /// Called after every change of an address or a route, several at once maybe once.
    var onChange: (@LoopActor () -> Void)? { get set }
}
