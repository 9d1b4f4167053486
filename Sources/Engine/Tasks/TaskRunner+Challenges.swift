internal import Loop
internal import Semantics

/// Who asks the task who it is, and what it is told (S-63…S-67, S-75).
extension TaskRunner {
    // MARK: 401 and 407

    /// What a response leads to that asks for credentials; nil where it is the result.
    func challenge(by head: ResponseHead) -> Exchange.Sequel? {
        switch head.status {
        case 401:
            return sequel(
                to: refused(by: record.currentRequest.url.origin, isProxy: false, head.headers),
                head)
        case 407:
            // Within a tunnel, or behind SOCKS, it is an origin that says so.
            guard let proxy, !record.currentRequest.url.isSecure else { return nil }
            return sequel(to: refused(by: proxy.origin, isProxy: true, head.headers), head)
        default: return nil
        }
    }

    private func sequel(to step: ChallengeStep?, _ head: ResponseHead) -> Exchange.Sequel? {
        switch step {
        case .attempt: .authenticate
        case .ask(let space, let kind):
            .ask(
                .credential(space, kind), ResponseRecord(head, to: record, in: session.record))
        case nil: nil
        }
    }

    /// Whether the proxy's answer to CONNECT is followed by another attempt.
    func proxyAsks(in head: ResponseHead) -> Bool {
        guard head.status == 407, let proxy,
            let step = refused(by: proxy.origin, isProxy: true, head.headers)
        else { return false }
        if case .ask(let space, let kind) = step {
            askForCredential(
                space, kind, after: ResponseRecord(head, to: record, in: session.record))
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

    /// What comes next for one who has been refused.
    private enum ChallengeStep {
        /// Another attempt, with what the round presents now.
        case attempt
        case ask(ProtectionSpace, DecisionKind)
    }

    /// The proxy that the current request goes through, if it is one that can ask: with SOCKS
    /// nothing is proved.
    var proxy: ProxyAddress? {
        let proxies = session.record.configuration.connectionProxyDictionary
        return proxies?.proxy(for: record.currentRequest.url).flatMap {
            $0.kind == .http ? $0 : nil
        }
    }

    private func refused(
        by asker: WebURL.Origin, isProxy: Bool, _ headers: HeaderList
    ) -> ChallengeStep? {
        let offered = offers(in: headers, by: asker, isProxy: isProxy)
        guard !offered.isEmpty else { return nil }
        var round = self[roundOf: isProxy]
        let wasUnasked = round.isUnasked
        let refusal = round.refused(by: asker, offering: offered) {
            DigestOffer(in: headers.challenges(isProxy: isProxy), for: $0)
        }
        self[roundOf: isProxy] = round
        switch refusal {
        case .ofNonce: return .attempt
        case .ofCredential(let use, let space, let isCertain):
            noteRefusal(of: use, in: space, wasUnasked: wasUnasked, by: asker)
            if isCertain { session.credentials?.drop(use, in: space) }
        case .elsewhere(let space):
            session.accepted.close(
                record.currentRequest.url.path, to: space,
                at: AcceptedCredentials.Asker(origin: asker, isProxy: isProxy))
        case nil: break
        }
        return next(of: offered, headers, isProxy: isProxy)
    }

    private func noteRefusal(
        of use: AuthenticationRound.Use, in space: ProtectionSpace, wasUnasked: Bool,
        by asker: WebURL.Origin
    ) {
        let stored = session.credentials?.credential(in: space)
        let isStored = session.credentials?.holds(use, in: space) == true
        refusedUnasked =
            wasUnasked && isStored ? stored.map { (space, ShownCredential($0)) } : nil
        session.accepted.forget(
            space, at: AcceptedCredentials.Asker(origin: asker, isProxy: space.isProxy))
    }

    private func offers(
        in headers: HeaderList, by asker: WebURL.Origin, isProxy: Bool
    ) -> [ProtectionSpace] {
        ProtectionSpace.offered(
            by: headers.challenges(isProxy: isProxy), at: asker, isProxy: isProxy)
    }

    /// The strongest space that can be answered, or asked about.
    private func next(
        of offered: [ProtectionSpace], _ headers: HeaderList, isProxy: Bool
    ) -> ChallengeStep? {
        for space in self[roundOf: isProxy].remaining(of: offered) {
            if mayUseTickets(in: space) {
                self[roundOf: isProxy].present(.tickets, in: space)
                return .attempt
            }
            if let kind = session.record.delegate?.challengeKind(of: space) {
                return .ask(space, kind)
            }
            if presentStored(in: space, offeredBy: headers) { return .attempt }
        }
        return nil
    }

    /// S-63: for hosts that the operator lists, once.
    private func mayUseTickets(in space: ProtectionSpace) -> Bool {
        space.method == .negotiate && services.ticketHosts.contains(space.host)
            && self[roundOf: space.isProxy].failureCount(in: space) == 0
    }

    private func presentStored(in space: ProtectionSpace, offeredBy headers: HeaderList?) -> Bool {
        guard storedPresentations < TaskRunner.storedPresentationLimit,
            !self[roundOf: space.isProxy].isWornOut,
            let stored = session.credentials?.credential(in: space),
            case .password(let user, let password) = stored.proof
        else { return false }
        storedPresentations += 1
        present(.password(user: user, password: password), in: space, offeredBy: headers)
        return true
    }

    /// Presents a password from the next attempt on, where the answer that asks for it says.
    private func present(
        _ use: AuthenticationRound.Use, in space: ProtectionSpace, offeredBy headers: HeaderList?
    ) {
        let url = record.currentRequest.url
        let offer = headers.flatMap {
            DigestOffer(in: $0.challenges(isProxy: space.isProxy), for: space)
        }
        let scope =
            switch space.method {
            case _ where space.isProxy: ProtectionScope.everything
            case .basic: ProtectionScope(basicAt: url.path)
            case .digest: ProtectionScope(digestAt: url.path, domain: paths(of: offer, at: url))
            default: ProtectionScope.everything
            }
        self[roundOf: space.isProxy].present(
            use, in: space, scope: scope, digest: offer?.challenge)
    }

    /// The paths of this server that a challenge names; nil where it names nothing.
    private func paths(of offer: DigestOffer?, at url: WebURL) -> [String]? {
        guard let domain = offer?.domain, !domain.isEmpty else { return nil }
        return domain.compactMap { try? services.transport.resolve($0, against: url) }
            .filter { $0.origin == url.origin }.map(\.path)
    }

    /// Stored credentials that are presented without asking: realms that take turns would ask for
    /// ever.
    private static let storedPresentationLimit = 20

    subscript(roundOf isProxy: Bool) -> AuthenticationRound {
        get {
            isProxy ? record.dialogue.authentication.proxy : record.dialogue.authentication.server
        }
        set {
            if isProxy {
                record.dialogue.authentication.proxy = newValue
            } else {
                record.dialogue.authentication.server = newValue
            }
        }
    }

    /// Asks about a space; the response that offers it is held, or was the answer of a proxy to
    /// CONNECT.
    func askForCredential(
        _ space: ProtectionSpace, _ kind: DecisionKind, after response: ResponseRecord
    ) {
        let refused = refusedUnasked?.space == space ? refusedUnasked?.credential : nil
        let challenge = Challenge(
            space, previousFailureCount: self[roundOf: space.isProxy].failureCount(in: space),
            proposedCredential: refused
                ?? session.credentials?.credential(in: space).map(ShownCredential.init),
            failureResponse: response)
        ask(kind) { .didReceiveChallenge(challenge, decision: $0) }
        waitForDecision()
    }

    // MARK: During the handshake

    /// The handshake has brought up a question, and the attempt has ended with it.
    func handshakeAsks(_ question: HandshakeQuestion) {
        let origin = record.currentRequest.url.origin
        switch question {
        case .serverTrust(let trust):
            let space = ProtectionSpace(origin, method: .serverTrust)
            askAboutTrust(Challenge(space, serverTrust: trust), trust)
        case .clientCertificate(let names):
            let space = ProtectionSpace(origin, method: .clientCertificate)
            guard let kind = session.record.delegate?.challengeKind(of: space.method) else {
                break
            }
            let challenge = Challenge(
                space,
                proposedCredential: session.credentials?.credential(in: space).map(
                    ShownCredential.init),
                distinguishedNames: names)
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

    /// Whether a disposition can be carried out.
    func check(
        _ disposition: ChallengeDisposition, of challenge: Challenge
    ) throws(GatewayError) {
        guard case .useCredential(let credential?) = disposition else { return }
        try session.check(credential.persistence)
        guard credential.answers(challenge.space.method) else {
            throw .credentialNotUsable(
                "A credential of this kind does not answer \(challenge.space.method.name).")
        }
        if case .serverTrust(let leaf) = credential.proof {
            guard leaf == challenge.serverTrust?.leaf else {
                throw .credentialNotUsable("The fingerprint is not that of the server's leaf.")
            }
        }
    }

    func apply(_ disposition: ChallengeDisposition, to challenge: Challenge) {
        switch challenge.space.method {
        case .serverTrust: applyToTrust(disposition, challenge.serverTrust)
        case .clientCertificate: applyToIdentity(disposition, challenge.space)
        default: applyToSpace(disposition, challenge)
        }
    }

    private func applyToSpace(_ disposition: ChallengeDisposition, _ challenge: Challenge) {
        let space = challenge.space
        switch disposition {
        case .useCredential(let credential?):
            guard case .password(let user, let password) = credential.proof else { return }
            session.credentials?.put(credential, in: space, asDefault: true)
            present(
                .password(user: user, password: password), in: space,
                offeredBy: challenge.failureResponse?.headers)
            authenticate()
        case .useCredential(nil): letThrough()
        case .performDefaultHandling:
            if presentStored(in: space, offeredBy: challenge.failureResponse?.headers) {
                authenticate()
            } else {
                letThrough()
            }
        case .cancelAuthenticationChallenge: fail(.cancelled)
        case .rejectProtectionSpace:
            self[roundOf: space.isProxy].reject(space)
            guard let response = challenge.failureResponse else { return letThrough() }
            let asker = space.isProxy ? proxy?.origin : record.currentRequest.url.origin
            let offered = asker.map { offers(in: response.headers, by: $0, isProxy: space.isProxy) }
            switch next(of: offered ?? [], response.headers, isProxy: space.isProxy) {
            case .attempt: authenticate()
            case .ask(let space, let kind):
                askForCredential(space, kind, after: response)
                save()
            case nil: letThrough()
            }
        }
    }

    private func authenticate() {
        dropHeld()
        goOnAsDecided()
    }

    private func applyToIdentity(_ disposition: ChallengeDisposition, _ space: ProtectionSpace) {
        let choice: IdentityChoice
        switch disposition {
        case .useCredential(let credential?):
            guard case .identity(let identity) = credential.proof else { return }
            session.credentials?.put(credential, in: space, asDefault: true)
            choice = .certificate(identity)
        case .useCredential(nil), .rejectProtectionSpace: choice = .without
        case .performDefaultHandling:
            choice =
                session.storedIdentity(for: record.currentRequest.url)
                .map(IdentityChoice.certificate)
                ?? .without
        case .cancelAuthenticationChallenge:
            fail(.cancelled)
            return
        }
        record.dialogue.authentication.identity = choice
        record.dialogue.authentication.identityOrigin = record.currentRequest.url.origin
        goOnAsDecided()
    }

    private func applyToTrust(_ disposition: ChallengeDisposition, _ trust: ServerTrust?) {
        switch disposition {
        case .useCredential(.some): goOnAsDecided()
        case .useCredential(nil), .performDefaultHandling:
            if let trust, !trust.isTrusted { fail(trust.error) } else { goOnAsDecided() }
        case .cancelAuthenticationChallenge, .rejectProtectionSpace:
            fail(trust?.error ?? .cancelled)
        }
    }

    /// What is decided about a server's certificate is decided for the session, whoever has asked.
    ///
    /// - Returns: the tasks that have waited with this one; none where it is about something else.
    func noteTrust(
        _ disposition: ChallengeDisposition, _ challenge: Challenge
    ) -> [TaskRunner] {
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
        guard case .didReceiveChallenge(let challenge, _)? = decision?.record.question,
            let trust = challenge.serverTrust
        else { return }
        for runner in session.trust.close(about: trust, at: challenge.space, by: self) {
            runner.goOnAsDecided()
        }
    }
}
