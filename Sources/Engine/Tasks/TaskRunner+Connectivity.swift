internal import Loop
internal import Semantics

/// Waiting for a way to the server in place of failing without one (S-26).
extension TaskRunner {
    /// Whether the task waits, in place of what would follow an attempt that found no way.
    func waitsForRoute(after error: TransferError) -> Bool {
        guard session.record.configuration.waitsForConnectivity,
            error.isLackOfRoute, task.canBeginAgain
        else { return false }
        if !task.record.dialogue.hasToldOfWaiting {
            task.record.dialogue.hasToldOfWaiting = true
            task.publish(.isWaitingForConnectivity)
        }
        noteBody(of: task.record.currentRequest)
        send(.cutOff)
        rest()
        return true
    }

    func waitForConnectivity() {
        settleWhileWaiting()
        route.wait { [weak self] in self?.send(.reconnected) }
    }
}
