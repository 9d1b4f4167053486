public import Loop

/// Whether what this machine has is still its own, where other machines may have got it: whoever
/// does not know yet that it was taken for lost must remove nothing that they rely on.
@LoopActor
public protocol ContentClaim: AnyObject, Sendable {
    /// Returns once the store has for good what was recorded until now and nobody else can have got
    /// it, however long that takes.
    ///
    /// - Returns: false where it never will: another machine has it.
    func settled() async -> Bool
}
