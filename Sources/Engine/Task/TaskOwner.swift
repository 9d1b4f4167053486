internal import Loop
internal import Semantics

/// Whom tasks tell what becomes of them.
@LoopActor
protocol TaskOwner: AnyObject {
    /// A task has completed; called after its last event.
    func completed(_ task: TaskRunner)
    /// A task has nothing to do any more, but was suspended before its attempt ended.
    func rests(_ task: TaskRunner)
    /// Makes the download that a data task becomes (S-70).
    func makeDownload(of task: TaskRunner) -> TaskRunner
}

/// Opens what bodies are made of that do not come with their tasks (S-37).
@LoopActor
protocol BodyOpener: AnyObject {
    /// Opens a staged file, or another task's content.
    ///
    /// - Throws: an error that `isGone` where there is none any more, and one that `isForLater`
    ///   where it may be there and cannot be reached.
    func openSource(
        _ body: BodyRecord, of tenant: TenantID
    ) async throws(GatewayError) -> BodyContent
}
