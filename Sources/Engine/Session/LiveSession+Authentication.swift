internal import Loop
internal import Semantics

/// What a session presents to those who ask who it is.
extension LiveSession {
    /// What goes to a server unasked with a request for this URL (S-83).
    func acceptedCredential(for url: WebURL) -> AcceptedCredentials.Entry? {
        acceptedCredential(
            for: url.path, at: AcceptedCredentials.Asker(origin: url.origin, isProxy: false))
    }

    /// What goes to a proxy unasked.
    func acceptedCredential(of proxy: ProxyAddress) -> AcceptedCredentials.Entry? {
        acceptedCredential(
            for: "/", at: AcceptedCredentials.Asker(origin: proxy.origin, isProxy: true))
    }

    private func acceptedCredential(
        for path: String, at asker: AcceptedCredentials.Asker
    ) -> AcceptedCredentials.Entry? {
        guard let credentials, let entry = accepted.entry(for: path, at: asker) else { return nil }
        // It may have been deleted, refused, or replaced.
        guard credentials.holds(entry.use, in: entry.space) else {
            accepted.forget(entry.space, at: asker)
            return nil
        }
        return entry
    }

    /// What a task has presented was accepted: it goes unasked from now on if the session remembers
    /// it.
    func noteAccepted(
        _ round: AuthenticationRound, at path: String, by asker: AcceptedCredentials.Asker
    ) {
        guard let credentials, let use = round.use, let space = round.space,
            space.method == .basic || (space.method == .digest && round.digest != nil),
            credentials.holds(use, in: space)
        else { return }
        accepted.note(round, at: path, by: asker)
    }

    /// Proves to a server or a proxy who sends one request.
    ///
    /// - Parameters:
    ///   - round: what is presented.
    ///   - asker: the server or the proxy.
    ///   - method: as it goes into the request line.
    ///   - uri: what a proof of Digest is for.
    /// - Returns: nil where nothing was agreed on with it.
    func credential(
        of round: AuthenticationRound, for asker: WebURL.Origin, method: String, uri: String
    ) -> AttemptCredential? {
        guard round.origin == asker, let use = round.use, let space = round.space else {
            return nil
        }
        switch (use, space.method) {
        case (.tickets, _): return AttemptCredential(.negotiate, user: "", password: "")
        case (.password(let user, let password), .basic):
            return AttemptCredential(.basic, user: user, password: password)
        case (.password(let user, let password), .digest):
            return round.digest.map {
                AttemptCredential(
                    digest: nonces.proof(
                        of: user, password, answering: $0, by: asker, isProxy: space.isProxy,
                        method: method, uri: uri))
            }
        case (.password(let user, let password), .ntlm):
            return AttemptCredential(.ntlm, user: user, password: password)
        case (.password, _): return nil
        }
    }

    /// Whether one of a task's requests was refused for its nonce alone: then the next ones have
    /// another.
    func renewsNonce(_ head: ResponseHead, for task: TaskRecord) -> Bool {
        let isProxy = head.status == 407
        let authentication = task.dialogue.authentication
        let round = isProxy ? authentication.proxy : authentication.server
        guard isProxy || head.status == 401, let origin = round.origin, let space = round.space,
            let old = round.digest,
            let offer = DigestOffer(in: head.headers.challenges(isProxy: isProxy), for: space),
            offer.isStale, offer.challenge.nonce != old.nonce
        else { return false }
        nonces.replace(old, by: offer.challenge, of: origin, isProxy: isProxy)
        return true
    }
}

extension HeaderList {
    /// All challenges of a server or a proxy.
    func challenges(isProxy: Bool) -> [String] {
        values(of: isProxy ? "Proxy-Authenticate" : "WWW-Authenticate")
    }
}

extension WebURL {
    /// Path and query, as they go into the request line.
    var target: String { path + (query.map { "?" + $0 } ?? "") }

    /// Host and port, as CONNECT names them.
    var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}
