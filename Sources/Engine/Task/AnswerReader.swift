internal import Loop
internal import Semantics

/// What the head of an answer does to the task's session, and what follows from it.
@LoopActor
struct AnswerReader {
    /// What an answer means.
    enum Meaning {
        /// The response is the task's.
        case result
        /// Something else follows, once the rest of the body has been read.
        case leadsTo(Exchange.NextStep)
        /// The task ends with it, and nothing more is read.
        case fails(Exchange.NextStep)
    }

    private let task: LiveTask
    private let caching: CacheFlow
    private let challenges: ChallengeResponder

    /// Reads the answers to a task's requests.
    init(of task: LiveTask, caching: CacheFlow, challenges: ChallengeResponder) {
        self.task = task
        self.caching = caching
        self.challenges = challenges
    }

    private var session: LiveSession { task.session }
    private var url: WebURL { task.record.currentRequest.url }

    // MARK: Notes

    /// Takes note of an origin's answer, once: what it does to the jar and to the cache.
    ///
    /// - Parameters:
    ///   - head: of the answer.
    ///   - isWhole: whether it answers a request for the whole.
    /// - Returns: what follows if it is not for the client.
    func note(_ head: ResponseHead, isWhole: Bool) -> Exchange.NextStep? {
        session.receiveCookies(of: head, to: task.record)
        noteAcceptance(by: head)
        guard isWhole else { return nil }
        switch caching.take(head, from: url) {
        case .again: return .again(nil)
        case .replay: return .replay
        case nil: return nil
        }
    }

    /// Who answers anything but 401, or 407, has accepted what was presented.
    private func noteAcceptance(by head: ResponseHead) {
        guard task.record.dialogue != TaskDialogue() else { return }
        task.withAuthentication { challenges.noteAcceptance(by: head, of: url, in: &$0) }
    }

    /// What was accepted before goes along with the next request (S-83).
    func presentAccepted() {
        guard !session.accepted.isEmpty else { return }
        task.withAuthentication {
            challenges.presentAccepted(
                to: url,
                hasOwnProof: task.record.headers(in: session.record).contains("Authorization"),
                in: &$0)
        }
    }

    // MARK: Meaning

    /// What follows from an answer.
    ///
    /// - Parameters:
    ///   - head: as the client would be given it.
    ///   - timeLeft: of the whole task's time.
    /// - Returns: the response as the task's result, or what it leads to.
    func meaning(of head: ResponseHead, timeLeft: @autoclosure () -> Duration) -> Meaning {
        switch task.redirection(for: head) {
        case .result: break
        case .follow(let next, let obstacle):
            let request = task.record.currentRequest.redirected(to: next)
            if task.handles(.redirect) {
                return .leadsTo(.ask(.redirect(request), response(head)))
            } else if let obstacle {
                return refused(.url(obstacle, at: url.string), head)
            } else {
                return .leadsTo(.follow(request))
            }
        case .refuse(let error): return refused(error, head)
        }
        guard !caching.isServing else { return .result }
        let step = challenge(by: head) ?? task.nextStep(after: head, timeLeft: timeLeft())
        return step.map(Meaning.leadsTo) ?? .result
    }

    private func refused(_ error: TransferError, _ head: ResponseHead) -> Meaning {
        task.keepAnswer(response(head))
        return .fails(.fail(error))
    }

    /// What a response leads to that asks for credentials; nil where it is the result.
    private func challenge(by head: ResponseHead) -> Exchange.NextStep? {
        guard head.status == 401 || head.status == 407 else { return nil }
        switch task.withAuthentication({ challenges.step(after: head, from: url, in: &$0) }) {
        case .attempt: return .authenticate
        case .ask(let space, let kind): return .ask(.credential(space, kind), response(head))
        case nil: return nil
        }
    }

    /// What a proxy's answer to CONNECT leads to; nil where it is the end of the attempt.
    func meaning(ofTunnel head: ResponseHead) -> Exchange.NextStep? {
        switch task.withAuthentication({ challenges.step(afterTunnel: head, to: url, in: &$0) }) {
        case .attempt: .authenticate
        case .ask(let space, let kind): .ask(.credential(space, kind), response(head))
        case nil: nil
        }
    }

    /// Why an answer to a request for the whole cannot be the result: it is a part. One that
    /// has all of it is none; nor is one that the client has asked for.
    func fault(of head: ResponseHead) -> TransferError? {
        guard head.status == 206, !caching.isServing, !ContentRange.isWhole(head.headers),
            !task.record.headers(in: session.record).contains("Range")
        else { return nil }
        return .badServerResponse(
            "The server answers with a part of the content, and all of it was asked for.")
    }

    /// The response that a head begins.
    func response(_ head: ResponseHead) -> ResponseRecord {
        ResponseRecord(head, to: task.record, in: session.record)
    }
}
