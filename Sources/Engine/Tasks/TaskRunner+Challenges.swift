internal import Loop
internal import Semantics

/// What follows when somebody asks the task who it is, and what the answers lead to.
extension TaskRunner: TrustWaiter {
    var waitsForDecision: Bool { machine.phase == .waitingForDecision }

    /// What stands between the task and those who have asked; written back if it changes.
    private func withRounds<Result>(_ body: (inout TaskAuthentication) -> Result) -> Result {
        var rounds = task.record.dialogue.authentication
        let result = body(&rounds)
        if rounds != task.record.dialogue.authentication {
            task.record.dialogue.authentication = rounds
        }
        return result
    }

    /// What was accepted before goes along (S-83).
    func presentAccepted() {
        guard !session.accepted.isEmpty else { return }
        withRounds {
            challenges.presentAccepted(
                to: task.record.currentRequest.url,
                hasOwnProof: task.record.headers(in: session.record).contains("Authorization"),
                in: &$0)
        }
    }

    /// Who answers anything but 401, or 407, has accepted what was presented.
    func noteAcceptance(by head: ResponseHead) {
        guard task.record.dialogue != TaskDialogue() else { return }
        withRounds {
            challenges.noteAcceptance(by: head, of: task.record.currentRequest.url, in: &$0)
        }
    }

    // MARK: 401 and 407

    /// What a response leads to that asks for credentials; nil where it is the result.
    func challenge(by head: ResponseHead) -> Exchange.Sequel? {
        guard head.status == 401 || head.status == 407 else { return nil }
        let step = withRounds {
            challenges.step(after: head, from: task.record.currentRequest.url, in: &$0)
        }
        switch step {
        case .attempt: return .authenticate
        case .ask(let space, let kind):
            return .ask(
                .credential(space, kind), ResponseRecord(head, to: task.record, in: session.record))
        case nil: return nil
        }
    }

    /// Whether the proxy's answer to CONNECT is followed by another attempt.
    func proxyAsks(in head: ResponseHead) -> Bool {
        let step = withRounds {
            challenges.step(afterTunnel: head, to: task.record.currentRequest.url, in: &$0)
        }
        switch step {
        case .attempt: break
        case .ask(let space, let kind):
            askForCredential(
                space, kind, after: ResponseRecord(head, to: task.record, in: session.record))
        case nil: return false
        }
        tryAgain()
        return true
    }

    /// Asks what is to become of a response that is held.
    func ask(_ question: Exchange.Question, after response: ResponseRecord) {
        switch question {
        case .credential(let space, let kind): askForCredential(space, kind, after: response)
        case .redirect(let request):
            ask(.redirect) {
                .willPerformHTTPRedirection(response, request: request, decision: $0)
            }
            waitForDecision()
        }
    }

    private func askForCredential(
        _ space: ProtectionSpace, _ kind: DecisionKind, after response: ResponseRecord
    ) {
        let challenge = challenges.challenge(
            about: space, after: response, task.record.dialogue.authentication)
        ask(kind) { .didReceiveChallenge(challenge, decision: $0) }
        waitForDecision()
    }

    // MARK: During the handshake

    /// The handshake has brought up a question, and the attempt has ended with it.
    func handshakeAsks(_ question: HandshakeQuestion) {
        let origin = task.record.currentRequest.url.origin
        switch question {
        case .serverTrust(let trust):
            let space = ProtectionSpace(origin, method: .serverTrust)
            askAboutTrust(Challenge(space, serverTrust: trust), trust)
        case .clientCertificate(let names):
            guard let kind = session.record.delegate?.challengeKind(of: .clientCertificate) else {
                break
            }
            let challenge = challenges.challenge(aboutIdentityFor: origin, names: names)
            ask(kind) { .didReceiveChallenge(challenge, decision: $0) }
            waitForDecision()
        }
        tryAgain()
    }

    private func askAboutTrust(_ challenge: Challenge, _ trust: ServerTrust) {
        let space = challenge.space
        guard let kind = session.record.delegate?.challengeKind(of: .serverTrust),
            // Another task may have been answered while this one shook hands.
            !session.record.knownLeaves.contains(where: {
                $0.host == space.host && $0.port == space.port && $0.fingerprint == trust.leaf
            })
        else { return }
        waitForDecision()
        guard !session.trust.join(self, about: trust, at: space) else { return }
        session.trust.ask(about: trust, at: space, by: self)
        ask(kind) { .didReceiveChallenge(challenge, decision: $0) }
    }

    // MARK: Answers

    func apply(_ disposition: ChallengeDisposition, to challenge: Challenge) {
        let outcome = withRounds {
            challenges.apply(
                disposition, to: challenge, at: task.record.currentRequest.url, in: &$0)
        }
        switch outcome {
        case .attempt:
            task.dropHeld()
            goOnAsDecided()
        case .goOn: goOnAsDecided()
        case .letThrough: letThrough()
        case .ask(let space, let kind, let response):
            askForCredential(space, kind, after: response)
            save()
        case .fail(let error): fail(error)
        }
    }

    /// What is decided about a server's certificate is decided for the session, whoever has asked.
    ///
    /// - Returns: the tasks that have waited with this one; none where it is about something else.
    func noteTrust(
        _ disposition: ChallengeDisposition, _ challenge: Challenge
    ) -> [any TrustWaiter] {
        guard let trust = challenge.serverTrust else { return [] }
        let space = challenge.space
        switch disposition {
        case .useCredential(let credential):
            know(trust, at: space, mustVerify: credential == nil)
        case .performDefaultHandling: know(trust, at: space, mustVerify: true)
        case .cancelAuthenticationChallenge, .rejectProtectionSpace: break
        }
        return session.trust.close(about: trust, at: space, by: self)
    }

    private func know(_ trust: ServerTrust, at space: ProtectionSpace, mustVerify: Bool) {
        session.know(
            KnownLeaf(
                host: space.host, port: space.port, fingerprint: trust.leaf,
                mustVerify: mustVerify))
    }

    /// The task has ended while it asked: those that waited with it go on, and one of them asks.
    func leaveTrustLine() {
        session.trust.asker(for: self)?.runDecisionClock()
        guard case .didReceiveChallenge(let challenge, _)? = dialogue.question,
            let trust = challenge.serverTrust
        else { return }
        for task in session.trust.close(about: trust, at: challenge.space, by: self) {
            task.goOnAsDecided()
        }
    }
}
