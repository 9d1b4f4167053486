internal import Diagnostics
internal import Loop
internal import Semantics

/// Responses that a decision is about, and that are the result where it lets them through (S-66,
/// S-68).
extension TaskRunner {
    /// Whether the delegate is being asked about a response whose body is still coming.
    var asksAboutHeldResponse: Bool { dialogue.isOpen && exchange.heldResponse != nil }

    /// A response has asked for something, and is kept until that is decided.
    func hold(_ response: ResponseRecord, _ end: AttemptEnd) {
        let body = exchange.heldBody
        task.record.dialogue.held = HeldResponse(
            response, bodyLength: body.count,
            isTruncated: end.error != nil,
            isDamaged: end.error?.kind == .url(.cannotDecodeRawData),
            lengthVerified: end.lengthVerified)
        if !body.isEmpty { session.commits.keep(body, of: task.record.id) }
    }

    /// The response that was held is the task's result.
    func letThrough() {
        setAsksForDecision(false)
        guard let response = task.record.dialogue.held?.response ?? exchange.heldResponse else {
            fail(.url(.userAuthenticationRequired))
            return
        }
        guard task.record.response == nil else {
            fail(.restAnswered(with: response.status))
            return
        }
        if showAsking(response) {
            waitForDecision()
            save()
        } else {
            deliverDecided()
        }
    }

    /// What was held comes as if it came from the wire just now.
    func deliverHeld() {
        LoopActor.start { [self] in
            guard let held = task.record.dialogue.held else { return }
            let bytes = await task.heldBytes(of: held)
            guard !isOver, task.record.dialogue.held != nil else { return }
            task.dropHeld()
            guard !held.isTruncated, let bytes else {
                fail(
                    held.isDamaged
                        ? .url(.cannotDecodeRawData)
                        : .url(
                            .networkConnectionLost,
                            message: "The body of the response did not come whole."))
                return
            }
            lengthVerified = held.lengthVerified
            deliver(held.response, bytes)
            if undelivered == nil { send(.answered) }
        }
    }

    /// A response is the result, and this is its body, or how it begins.
    func deliver(_ response: ResponseRecord, _ body: [UInt8]) {
        setAsksForDecision(false)
        dropReceived()
        take(response)
        body.withUnsafeBytes { deliver($0) }
    }

}

extension TransferError {
    /// Part of a content is here, and what follows is none of it.
    static func restAnswered(with status: Int) -> TransferError {
        .badServerResponse("The rest of the content was answered with status \(status).")
    }
}
