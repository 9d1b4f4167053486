internal import Loop
internal import Semantics

/// Waiting for a way to the server in place of failing without one (S-26).
extension TaskRunner {
    /// Whether the task waits, in place of what would follow an attempt that found no way.
    func waitsForRoute(after error: TransferError) -> Bool {
        guard session.record.configuration.waitsForConnectivity,
            error.isLackOfRoute, canBeginAgain
        else { return false }
        if !record.dialogue.hasToldOfWaiting {
            record.dialogue.hasToldOfWaiting = true
            services.hub.publish(.isWaitingForConnectivity, of: record.id, in: session)
        }
        noteBody(of: record.currentRequest)
        send(.cutOff)
        if isAtRest { owner?.rests(self) }
        return true
    }

    func waitForConnectivity() {
        settleWhileWaiting()
        routeTries += 1
        routeWatch = services.routes.watch(tries: routeTries) { [weak self] in
            self?.routeWatch = nil
            self?.send(.reconnected)
        }
    }

    func stopWaitingForConnectivity() {
        routeWatch?.cancel()
        routeWatch = nil
    }
}
