internal import Loop
internal import Semantics

/// What goes to a server or a proxy before it asks, since it has accepted it before (S-83).
extension TaskRunner {
    /// What the server, and the proxy, have accepted before goes along, where the client has no
    /// word of its own.
    func presentAccepted() {
        guard !session.accepted.isEmpty else { return }
        let url = record.currentRequest.url
        if let accepted = session.acceptedCredential(for: url),
            !record.headers(in: session.record).contains("Authorization")
        {
            present(accepted, to: url.origin, isProxy: false)
        }
        if let proxy, let accepted = session.acceptedCredential(of: proxy) {
            present(accepted, to: proxy.origin, isProxy: true)
        }
    }

    private func present(
        _ accepted: AcceptedCredentials.Entry, to asker: WebURL.Origin, isProxy: Bool
    ) {
        var round = self[roundOf: isProxy]
        if round.origin != asker { round = AuthenticationRound() }
        guard round.use == nil, !round.rejected.contains(accepted.space) else { return }
        round.origin = asker
        round.present(
            accepted.use, in: accepted.space, scope: accepted.scope, digest: accepted.digest,
            isUnasked: true)
        self[roundOf: isProxy] = round
    }

    /// Who answers anything but 401, or 407, has accepted what was presented.
    func noteAcceptance(by head: ResponseHead) {
        guard record.dialogue != TaskDialogue() else { return }
        let url = record.currentRequest.url
        // Within a tunnel, or behind SOCKS, it is an origin that answers.
        let isProxysOwn = head.status == 407 && proxy != nil && !url.isSecure
        if head.status != 401, head.status != 407 {
            noteAcceptance(
                by: AcceptedCredentials.Asker(origin: url.origin, isProxy: false), at: url.path,
                head.headers.values(of: "Authentication-Info"))
        }
        if let proxy, !isProxysOwn {
            noteAcceptance(
                by: AcceptedCredentials.Asker(origin: proxy.origin, isProxy: true), at: "/",
                url.isSecure ? [] : head.headers.values(of: "Proxy-Authentication-Info"))
        }
    }

    private func noteAcceptance(
        by asker: AcceptedCredentials.Asker, at path: String,
        _ information: @autoclosure () -> [String]
    ) {
        var round = self[roundOf: asker.isProxy]
        guard round.origin == asker.origin, round.use != nil else { return }
        round.accepted(nextNonce: DigestChallenge.nextNonce(in: information()))
        if round != self[roundOf: asker.isProxy] { self[roundOf: asker.isProxy] = round }
        session.noteAccepted(round, at: path, by: asker)
    }
}
