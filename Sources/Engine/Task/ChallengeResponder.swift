internal import Loop
internal import Semantics

/// What a task presents to those who ask who it is: passwords, tickets, certificates
/// (S-63…S-67, S-75, S-83). What was agreed on with whom is in the task's record.
@LoopActor
final class ChallengeResponder {
    /// What comes next for one who has been refused.
    enum Step {
        /// Another attempt, with what the round presents now.
        case attempt
        /// The delegate is asked.
        case ask(ProtectionSpace, DecisionKind)
    }

    /// What the delegate's answer leads to.
    enum Outcome {
        /// Another attempt, with what the round presents now, in place of a response that is held.
        case attempt
        /// Another attempt; nothing was held.
        case goOn
        /// The response that has asked is the result.
        case letThrough
        /// The delegate is asked about another space that the same response has offered.
        case ask(ProtectionSpace, DecisionKind, after: ResponseRecord)
        case fail(TransferError)
    }

    private let session: LiveSession
    private let services: TaskServices
    /// How often a stored credential or a ticket was presented without asking.
    private var unaskedPresentations = 0
    /// What was refused that nobody had asked for (S-83): it is proposed all the same.
    private var refusedUnasked: (space: ProtectionSpace, credential: ShownCredential)?

    /// What is presented without asking: realms that take turns would ask for ever.
    private static let unaskedPresentationLimit = 20

    init(in session: LiveSession, services: TaskServices) {
        self.session = session
        self.services = services
    }

    // MARK: Unasked (S-83)

    /// What the server, and the proxy, have accepted before goes along, where the client has no
    /// word of its own.
    func presentAccepted(
        to url: WebURL, hasOwnProof: @autoclosure () -> Bool, in rounds: inout TaskAuthentication
    ) {
        if let accepted = session.acceptedCredential(for: url), !hasOwnProof() {
            present(accepted, to: url.origin, in: &rounds.server)
        }
        if let proxy = session.proxy(for: url), let accepted = session.acceptedCredential(of: proxy)
        {
            present(accepted, to: proxy.origin, in: &rounds.proxy)
        }
    }

    private func present(
        _ accepted: AcceptedCredentials.Entry, to asker: WebURL.Origin,
        in current: inout AuthenticationRound
    ) {
        var round = current
        if round.origin != asker { round = AuthenticationRound() }
        guard round.use == nil, !round.rejected.contains(accepted.space) else { return }
        round.origin = asker
        round.present(
            accepted.use, in: accepted.space, scope: accepted.scope, digest: accepted.digest,
            isUnasked: true)
        current = round
    }

    /// Who answers anything but 401, or 407, has accepted what was presented.
    func noteAcceptance(
        by head: ResponseHead, of url: WebURL, in rounds: inout TaskAuthentication
    ) {
        let proxy = session.proxy(for: url)
        // Within a tunnel, or behind SOCKS, it is an origin that answers.
        let isProxysOwn = head.status == 407 && proxy != nil && !url.isSecure
        if head.status != 401, head.status != 407 {
            noteAcceptance(
                by: AcceptedCredentials.Asker(origin: url.origin, isProxy: false), at: url.path,
                head.headers.values(of: "Authentication-Info"), in: &rounds)
        }
        if let proxy, !isProxysOwn {
            noteAcceptance(
                by: AcceptedCredentials.Asker(origin: proxy.origin, isProxy: true), at: "/",
                url.isSecure ? [] : head.headers.values(of: "Proxy-Authentication-Info"),
                in: &rounds)
        }
    }

    private func noteAcceptance(
        by asker: AcceptedCredentials.Asker, at path: String,
        _ information: @autoclosure () -> [String], in rounds: inout TaskAuthentication
    ) {
        var round = rounds[isProxy: asker.isProxy]
        guard round.origin == asker.origin, round.use != nil else { return }
        round.accepted(nextNonce: DigestChallenge.nextNonce(in: information()))
        if round != rounds[isProxy: asker.isProxy] { rounds[isProxy: asker.isProxy] = round }
        session.noteAccepted(round, at: path, by: asker)
    }

    // MARK: 401 and 407

    /// What a response leads to that asks for credentials; nil where it is the result.
    func step(
        after head: ResponseHead, from url: WebURL, in rounds: inout TaskAuthentication
    ) -> Step? {
        switch head.status {
        case 401: return refused(by: url.origin, isProxy: false, head.headers, url, &rounds)
        case 407:
            // Within a tunnel, or behind SOCKS, it is an origin that says so.
            guard let proxy = session.proxy(for: url), !url.isSecure else { return nil }
            return refused(by: proxy.origin, isProxy: true, head.headers, url, &rounds)
        default: return nil
        }
    }

    /// What a proxy's answer to CONNECT leads to; nil where it is the end of the attempt.
    func step(
        afterTunnel head: ResponseHead, to url: WebURL, in rounds: inout TaskAuthentication
    ) -> Step? {
        guard head.status == 407, let proxy = session.proxy(for: url) else { return nil }
        return refused(by: proxy.origin, isProxy: true, head.headers, url, &rounds)
    }

    private func refused(
        by asker: WebURL.Origin, isProxy: Bool, _ headers: HeaderList, _ url: WebURL,
        _ rounds: inout TaskAuthentication
    ) -> Step? {
        let offered = offers(in: headers, by: asker, isProxy: isProxy)
        guard !offered.isEmpty else { return nil }
        var round = rounds[isProxy: isProxy]
        let wasUnasked = round.isUnasked
        let refusal = round.refused(by: asker, offering: offered) {
            DigestOffer(in: headers.challenges(isProxy: isProxy), for: $0)
        }
        rounds[isProxy: isProxy] = round
        switch refusal {
        case .ofNonce: return .attempt
        case .ofCredential(let use, let space, let isCertain):
            noteRefusal(of: use, in: space, wasUnasked: wasUnasked, by: asker)
            if isCertain { session.credentials?.drop(use, in: space) }
        case .elsewhere(let space):
            session.accepted.close(
                url.path, to: space,
                at: AcceptedCredentials.Asker(origin: asker, isProxy: isProxy))
        case nil: break
        }
        return next(of: offered, headers, at: url, isProxy: isProxy, &rounds)
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
        of offered: [ProtectionSpace], _ headers: HeaderList, at url: WebURL, isProxy: Bool,
        _ rounds: inout TaskAuthentication
    ) -> Step? {
        for space in rounds[isProxy: isProxy].remaining(of: offered) {
            if mayUseTickets(in: space, at: url, rounds) {
                unaskedPresentations += 1
                rounds[isProxy: isProxy].present(.tickets, in: space)
                return .attempt
            }
            if let kind = session.record.delegate?.challengeKind(of: space) {
                return .ask(space, kind)
            }
            if presentStored(in: space, offeredBy: headers, at: url, &rounds) { return .attempt }
        }
        return nil
    }

    /// S-63: for hosts that the operator lists, once, and only where it is that host that asks: a
    /// ticket is good there, whoever has got it.
    private func mayUseTickets(
        in space: ProtectionSpace, at url: WebURL, _ rounds: TaskAuthentication
    ) -> Bool {
        space.method == .negotiate && services.ticketHosts.contains(space.host)
            && unaskedPresentations < ChallengeResponder.unaskedPresentationLimit
            && rounds[isProxy: space.isProxy].failureCount(in: space) == 0
            && isCertain(whoAsks: space, at: url)
    }

    /// Whether it is nobody else who asks: a proxy of the client's could, in clear, and with https
    /// whoever has a certificate that the client, and not the gateway, has let through.
    private func isCertain(whoAsks space: ProtectionSpace, at url: WebURL) -> Bool {
        let proxy = session.record.configuration.connectionProxyDictionary?.proxy(for: url)
        return (space.isProxy || url.isSecure || proxy == nil)
            && !session.record.knownLeaves.contains {
                $0.host == space.host && $0.port == space.port && !$0.mustVerify
            }
    }

    private func presentStored(
        in space: ProtectionSpace, offeredBy headers: HeaderList?, at url: WebURL,
        _ rounds: inout TaskAuthentication
    ) -> Bool {
        guard unaskedPresentations < ChallengeResponder.unaskedPresentationLimit,
            !rounds[isProxy: space.isProxy].isWornOut,
            let stored = session.credentials?.credential(in: space),
            case .password(let user, let password) = stored.proof
        else { return false }
        unaskedPresentations += 1
        present(
            .password(user: user, password: password), in: space, offeredBy: headers, at: url,
            &rounds)
        return true
    }

    /// Presents a password from the next attempt on, where the answer that asks for it says.
    private func present(
        _ use: AuthenticationRound.Use, in space: ProtectionSpace, offeredBy headers: HeaderList?,
        at url: WebURL, _ rounds: inout TaskAuthentication
    ) {
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
        rounds[isProxy: space.isProxy].present(
            use, in: space, scope: scope, digest: offer?.challenge)
    }

    /// The paths of this server that a challenge names; nil where it names nothing.
    private func paths(of offer: DigestOffer?, at url: WebURL) -> [String]? {
        guard let domain = offer?.domain, !domain.isEmpty else { return nil }
        return domain.compactMap { try? services.transport.resolve($0, against: url) }
            .filter { $0.origin == url.origin }.map(\.path)
    }

    // MARK: Questions

    /// What the delegate is asked about a space; the response that offers it is held, or was the
    /// answer of a proxy to CONNECT.
    func challenge(
        about space: ProtectionSpace, after response: ResponseRecord, _ rounds: TaskAuthentication
    ) -> Challenge {
        let refused = refusedUnasked?.space == space ? refusedUnasked?.credential : nil
        return Challenge(
            space,
            previousFailureCount: rounds[isProxy: space.isProxy].failureCount(in: space),
            proposedCredential: refused
                ?? session.credentials?.credential(in: space).map(ShownCredential.init),
            failureResponse: response)
    }

    /// What the delegate is asked about a client certificate.
    func challenge(aboutIdentityFor origin: WebURL.Origin, names: [String]) -> Challenge {
        let space = ProtectionSpace(origin, method: .clientCertificate)
        return Challenge(
            space,
            proposedCredential: session.credentials?.credential(in: space).map(
                ShownCredential.init),
            distinguishedNames: names)
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

    /// Carries out what the delegate has said.
    ///
    /// - Parameters:
    ///   - disposition: its answer, which `check` has let pass.
    ///   - challenge: what it was asked.
    ///   - url: of the current request.
    ///   - rounds: what is presented from now on.
    /// - Returns: what follows.
    func apply(
        _ disposition: ChallengeDisposition, to challenge: Challenge, at url: WebURL,
        in rounds: inout TaskAuthentication
    ) -> Outcome {
        switch challenge.space.method {
        case .serverTrust: outcome(of: disposition, challenge.serverTrust)
        case .clientCertificate: applyToIdentity(disposition, challenge.space, at: url, &rounds)
        default: applyToSpace(disposition, challenge, at: url, &rounds)
        }
    }

    private func applyToSpace(
        _ disposition: ChallengeDisposition, _ challenge: Challenge, at url: WebURL,
        _ rounds: inout TaskAuthentication
    ) -> Outcome {
        let space = challenge.space
        let headers = challenge.failureResponse?.headers
        switch disposition {
        case .useCredential(let credential?):
            guard case .password(let user, let password) = credential.proof else {
                return .letThrough  // `check` has refused it
            }
            session.credentials?.put(credential, in: space, asDefault: true)
            present(
                .password(user: user, password: password), in: space, offeredBy: headers, at: url,
                &rounds)
            return .attempt
        case .useCredential(nil): return .letThrough
        case .performDefaultHandling:
            return presentStored(in: space, offeredBy: headers, at: url, &rounds)
                ? .attempt : .letThrough
        case .cancelAuthenticationChallenge: return .fail(.cancelled)
        case .rejectProtectionSpace:
            rounds[isProxy: space.isProxy].reject(space)
            guard let response = challenge.failureResponse else { return .letThrough }
            let asker = space.isProxy ? session.proxy(for: url)?.origin : url.origin
            let offered = asker.map { offers(in: response.headers, by: $0, isProxy: space.isProxy) }
            let step = next(
                of: offered ?? [], response.headers, at: url, isProxy: space.isProxy, &rounds)
            switch step {
            case .attempt: return .attempt
            case .ask(let space, let kind): return .ask(space, kind, after: response)
            case nil: return .letThrough
            }
        }
    }

    private func applyToIdentity(
        _ disposition: ChallengeDisposition, _ space: ProtectionSpace, at url: WebURL,
        _ rounds: inout TaskAuthentication
    ) -> Outcome {
        switch disposition {
        case .useCredential(let credential?):
            guard case .identity(let identity) = credential.proof else { return .goOn }
            session.credentials?.put(credential, in: space, asDefault: true)
            rounds.identity = .certificate(identity)
        case .useCredential(nil), .rejectProtectionSpace: rounds.identity = .without
        case .performDefaultHandling:
            rounds.identity =
                session.storedIdentity(for: url).map(IdentityChoice.certificate) ?? .without
        case .cancelAuthenticationChallenge: return .fail(.cancelled)
        }
        rounds.identityOrigin = url.origin
        return .goOn
    }

    private func outcome(
        of disposition: ChallengeDisposition, _ trust: ServerTrust?
    ) -> Outcome {
        switch disposition {
        case .useCredential(.some): return .goOn
        case .useCredential(nil), .performDefaultHandling:
            guard let trust, !trust.isTrusted else { return .goOn }
            return .fail(trust.error)
        case .cancelAuthenticationChallenge, .rejectProtectionSpace:
            return .fail(trust?.error ?? .cancelled)
        }
    }
}

extension TaskAuthentication {
    /// What stands between the task and the server, or the proxy.
    fileprivate subscript(isProxy isProxy: Bool) -> AuthenticationRound {
        get { isProxy ? proxy : server }
        set {
            if isProxy { proxy = newValue } else { server = newValue }
        }
    }
}

extension LiveSession {
    /// The proxy that a request goes through, if it is one that can ask: with SOCKS nothing is
    /// proved.
    func proxy(for url: WebURL) -> ProxyAddress? {
        record.configuration.connectionProxyDictionary?.proxy(for: url).flatMap {
            $0.kind == .http ? $0 : nil
        }
    }
}
