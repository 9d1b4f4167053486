internal import Loop
internal import Semantics

/// What the task's events do not tell by themselves is told by `task.didChange`, with the commit
/// that makes it durable: once for all that has changed by then, behind everything else of it.
extension TaskRunner: CommitCompanion {
    func noteChanges() {
        guard !task.hasNews, canTell, task.differsFromTold(waitingFor: waitReason) else { return }
        task.hasNews = true
        session.commits.callBeforeDeparture(self)
    }

    func batchDeparts() {
        task.hasNews = false
        if canTell { task.tellChanges(waitingFor: waitReason) }
        rest()
    }

    /// Nothing follows the end (S-57), and what a stop does to a task the next start tells.
    private var canTell: Bool {
        record.state != .completed && !isOver && machine.phase != .settled
    }
}
