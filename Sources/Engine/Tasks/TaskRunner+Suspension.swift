internal import Loop
internal import Semantics

/// A suspended task keeps its connection for a while, then gives it up where it can go on without (S-32):
/// a connection is a slot of its host, and no server keeps one for ever.
extension TaskRunner {
    /// The time of the connection is over.
    func detach() {
        guard machine.phase == .held, canDetach() else { return }
        send(.detach)
        if isAtRest { services.onRest?(self) }
    }

    /// Whether nothing was delivered yet, so that the task can begin anew, or the rest of a download can be asked for.
    private func canDetach() -> Bool {
        guard record.currentRequest.isSafe else { return false }
        guard let response = record.response else { return true }
        guard record.type == .download, record.currentRequest.method == "GET",
            !record.headers(in: session.record).contains("Range"),
            let rest = Continuation(of: response, received: record.countOfBytesReceived)
        else { return false }
        continuation = rest
        return true
    }

    /// The answer to a request for the rest. What was received stays as it is, and so does the response.
    func goOn(with rest: Continuation, _ head: ResponseHead) -> FlowVerdict {
        guard rest.isContinued(by: head.status, head.headers) else {
            exchange.sequel = .fail(
                .url(
                    .networkConnectionLost,
                    message:
                        "The content changed, or is no longer offered in parts, since the task was suspended."
                ))
            return .stop
        }
        continuation = nil
        return .proceed
    }
}
