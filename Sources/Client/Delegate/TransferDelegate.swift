/// Answers what the task of a command asks: with what the user has said in advance, and where that
/// does not do, by asking at the terminal.
final class TransferDelegate {
    /// Whether a user name and a password were wanted, and there was none that is right.
    private(set) var hasGivenUp = false
    /// Who did not take what was answered, and got no other answer; nil for nobody.
    private var refusal: Space?
    /// Whether the user did not want a redirect to be followed.
    private(set) var hasStoppedRedirect = false

    let settings: DelegateSettings
    let prompt: Prompt?
    let display: ProgressDisplay
    private let client: GatewayClient
    private let url: String
    /// The server that `--user` and `--cert` are for.
    let home: WebPlace?
    /// What was answered to those who ask for a password.
    private var logins: [Space: Attempt] = [:]
    private var passphrase: String?
    /// Whether the gateway, and not who asked, refused the last password.
    private var wasUnusable = false
    /// What has been told once and need not be told again.
    private var told: Set<String> = []

    private struct Space: Hashable {
        var place: String
        var realm: String?
        var isProxy: Bool
    }

    private struct Attempt {
        var user: String
        var password: String
        /// The task that has presented it.
        var task: String
        var count: Int64
    }

    /// Lets other things move, and tells whether the answer is still wanted.
    typealias IsAsked = () throws(ClientError) -> Bool

    /// How many passwords are asked for in one place.
    private static let mostTries: Int64 = 3

    /// A delegate for a transfer of `url`; without a prompt nobody is asked.
    init(
        _ settings: DelegateSettings, url: String, client: GatewayClient, prompt: Prompt?,
        display: ProgressDisplay
    ) {
        self.settings = settings
        self.client = client
        self.prompt = prompt
        self.display = display
        self.url = url
        home = WebPlace(url: url)
    }

    /// Answers what the task asks at the moment; nothing happens when it asks nothing.
    ///
    /// - Throws: `serverAnswered` when no password was right and the task `mustStay` as it is, so
    ///   that another command can go on with it; `refused` for a certificate that the gateway
    ///   cannot use; `interrupted`, and what the client throws.
    func serve(_ feed: TaskFeed, mustStay: Bool = false) throws(ClientError) {
        // Who has made the session has a delegate for it, or wants the defaults.
        guard settings.session == nil, let question = feed.question else { return }
        // A replay shows old questions too.
        guard let decision = try client.pendingDecision(question.id) else {
            return feed.forget(question)
        }
        let isAsked: IsAsked = { () throws(ClientError) in
            try feed.turn(within: .zero)
            return feed.question?.id == decision.id
        }
        var refusals = 0
        while let reply = try reply(to: decision, isAsked) {
            if mustStay, hasGivenUp { throw .serverAnswered(status: refusedStatus(decision)) }
            do throws(ClientError) {
                try client.answer(decision.id, with: reply)
                return feed.forget(question)
            } catch .refused(let problem) where problem.status == 409 || problem.status == 410 {
                // Somebody else was faster, or nobody was fast enough.
                return feed.forget(question)
            } catch .refused(let problem) where problem.status == 422 && refusals < 2 {
                guard let prompt, reply.credential != nil else { throw .refused(problem) }
                refusals += 1
                passphrase = nil
                wasUnusable = true
                prompt.say("\(problem)")
            }
        }
        feed.forget(question)
    }

    /// Nil where the gateway's default does, or nobody wants to know any more.
    private func reply(
        to decision: RemoteDecision, _ isAsked: IsAsked
    ) throws(ClientError) -> DecisionReply? {
        switch decision.question {
        case .challenge(let challenge):
            switch challenge.kind {
            case .password: try password(for: challenge, of: decision.task, isAsked)
            case .clientCertificate: try identity(for: challenge, isAsked)
            case .serverTrust: try trust(in: challenge, isAsked)
            // On to what the server offers beside it.
            case .other: .rejectProtectionSpace
            }
        case .redirect(_, let url):
            try redirect(to: url, isPermission: decision.leavesHTTPS, isAsked)
        case .response, .other: nil
        }
    }

    /// Tells something that may come again only once.
    func tellOnce(_ sentence: String) {
        guard told.insert(sentence).inserted else { return }
        if let prompt { prompt.say(sentence) } else { display.note(sentence) }
    }

    // MARK: Passwords

    private func password(
        for challenge: RemoteChallenge, of task: String, _ isAsked: IsAsked
    ) throws(ClientError) -> DecisionReply? {
        let space = Space(
            place: challenge.place, realm: challenge.realm, isProxy: challenge.isProxy)
        var tries = challenge.previousFailureCount
        if let last = logins[space] {
            if last.task != task, tries == 0 {
                // A task that goes on where another one was stopped.
                return offer(last.user, last.password, in: space, task, 1)
            }
            if last.task == task { tries = max(tries, last.count) }
        }
        let given = login(for: challenge)
        if tries == 0, let given, let password = given.password {
            return offer(given.user, password, in: space, task, 1)
        }
        guard let prompt else { return giveUp(space) }
        if tries > 0, !wasUnusable { prompt.say("Wrong user name or password.") }
        wasUnusable = false
        guard tries < TransferDelegate.mostTries else { return giveUp(space) }
        if !challenge.isSecure {
            tellOnce("\(challenge.place) gets what you type without encryption.")
        }
        let user: String
        var question = "Password: "
        if let given, given.password == nil {
            user = given.user
            question = "Password of \(user) for \(challenge.space): "
        } else {
            let line = try prompt.line("User name for \(challenge.space): ", isAsked: isAsked)
            guard let line, !line.isEmpty else { return try isAsked() ? giveUp(space) : nil }
            user = line
        }
        guard let password = try prompt.line(question, echoes: false, isAsked: isAsked) else {
            return try isAsked() ? giveUp(space) : nil
        }
        return offer(user, password, in: space, task, tries + 1)
    }

    /// What was given on the command line for whom it asks.
    private func login(for challenge: RemoteChallenge) -> Login? {
        if challenge.isProxy { return settings.proxyUser }
        guard let user = settings.user, isHome(challenge, "--user") else { return nil }
        return user
    }

    private func offer(
        _ user: String, _ password: String, in space: Space, _ task: String, _ count: Int64
    ) -> DecisionReply {
        logins[space] = Attempt(user: user, password: password, task: task, count: count)
        return DecisionReply(credential: .password(user: user, password: password))
    }

    private func giveUp(_ space: Space) -> DecisionReply {
        hasGivenUp = true
        refusal = logins[space] == nil ? nil : space
        return .performDefaultHandling
    }

    private func refusedStatus(_ decision: RemoteDecision) -> Int {
        guard case .challenge(let challenge) = decision.question else { return 401 }
        return challenge.failureStatus ?? (challenge.isProxy ? 407 : 401)
    }

    /// Whether it is the server of the URL that asks; others, whereto a redirect or a mirror led,
    /// get nothing of what `option` gives.
    private func isHome(_ challenge: RemoteChallenge, _ option: String) -> Bool {
        if let home, home == WebPlace(host: challenge.host, port: challenge.port) { return true }
        tellOnce("\(challenge.place) asks too, but \(option) is only for the server of the URL.")
        return false
    }

    // MARK: Certificates of the client's, redirects

    private func identity(
        for challenge: RemoteChallenge, _ isAsked: IsAsked
    ) throws(ClientError) -> DecisionReply? {
        guard let file = settings.identity, isHome(challenge, "--cert") else {
            return DecisionReply(credential: .none)
        }
        guard file.wantsPassphrase else { return DecisionReply(credential: file.credential()) }
        if passphrase == nil, let prompt {
            let question = "Passphrase of \(file.path): "
            passphrase = try prompt.line(question, echoes: false, isAsked: isAsked)
            guard passphrase != nil else {
                return try isAsked() ? DecisionReply(credential: .none) : nil
            }
        }
        return DecisionReply(credential: file.credential(passphrase: passphrase))
    }

    private func redirect(
        to url: String, isPermission: Bool, _ isAsked: IsAsked
    ) throws(ClientError) -> DecisionReply? {
        guard let prompt else {
            // Nobody is here who could permit it.
            hasStoppedRedirect = isPermission
            return DecisionReply(isPermission ? "stop" : "follow")
        }
        let answer = try prompt.confirms(
            "Follow to \(url)?", preset: !isPermission, isAsked: isAsked)
        if answer == nil, try !isAsked() { return nil }
        // At the end of input there is nobody who wants it.
        hasStoppedRedirect = answer != true
        return DecisionReply(hasStoppedRedirect ? "stop" : "follow")
    }
}

extension TransferDelegate {
    /// An error with what this delegate knows of its reason: a login that was not taken, a proxy.
    func explained(_ error: ClientError) -> ClientError {
        switch error {
        case .resumable(let error): return .resumable(explained(error))
        case .serverAnswered(let status):
            guard let refusal, status == (refusal.isProxy ? 407 : 401) else { return error }
            return .loginRefused(status: status)
        case .transferFailed(var failure):
            failure.proxy = settings.proxy(for: failure.failingURL ?? url)
            failure.isLoginRefused = refusal != nil
            return .transferFailed(failure)
        default: return error
        }
    }

    /// The session for what this delegate answers; the user's own where one was named, and `shared`
    /// where there is nothing to answer with.
    func session(for command: String) -> TransferSession {
        if let session = settings.session { return TransferSession(client, named: session) }
        guard prompt != nil || settings.isAnything else {
            return TransferSession(client, named: "shared")
        }
        // A person may have to look for a password; nobody else takes an hour.
        let order = settings.sessionJSON(
            description: command, decisionTimeout: prompt == nil ? 60 : 3600)
        return TransferSession(client, order: order)
    }
}
