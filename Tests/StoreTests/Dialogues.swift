import Engine
import Semantics

extension World {
    /// Tasks whose dialogues together use every member, each as it was created and as it became.
    mutating func dialogues(in session: SessionID) -> [(created: TaskRecord, changed: TaskRecord)] {
        var authentications: [TaskAuthentication] = []
        let origin = WebURL.plain.origin
        var round = AuthenticationRound()
        _ = round.refused(by: origin, offering: [])
        var asked = TaskAuthentication()
        asked.server = round
        authentications.append(asked)
        round.present(.password(user: "änn", password: ""), in: .plain(.digest, realm: nil))
        asked.proxy = round
        _ = round.refused(by: origin, offering: [.plain(.digest, realm: nil)])
        round.rejected = [.plain(.ntlm), .plain(.other("x"), isProxy: true)]
        round.staleCount = 2
        asked.server = round
        authentications.append(asked)
        for challenge in [
            DigestChallenge(realm: "", nonce: "n"),
            DigestChallenge(
                realm: "ä\"", nonce: "", opaque: "", algorithm: .sha256Session,
                algorithmName: "sha-256-SESS", countsRequests: true, hashesUser: true, isUTF8: true
            ),
        ] {
            round.present(
                .password(user: "u", password: "p"), in: .plain(.digest),
                scope: ProtectionScope(prefixes: ["/a/", ""]), digest: challenge, isUnasked: true)
            asked.server = round
            authentications.append(asked)
        }
        round.present(.tickets, in: .plain(.negotiate))
        asked.server = round
        asked.identity = .without
        asked.identityOrigin = origin
        authentications.append(asked)
        for identity: ClientIdentity in [
            .pem(certificate: "-----BEGIN", key: "-----KEY\n"), .pem(certificate: "", key: ""),
            .pkcs12(bytes: [0, 255, 7], passphrase: "p"), .pkcs12(bytes: [], passphrase: ""),
        ] {
            var presenting = TaskAuthentication()
            presenting.identity = .certificate(identity)
            // With a zone.
            presenting.identityOrigin =
                WebURL(
                    string: "", scheme: "https", host: "fe80::1", zone: "eth0", port: 1, path: ""
                ).origin
            authentications.append(presenting)
        }
        var dialogues = authentications.map { authentication in
            var dialogue = TaskDialogue()
            dialogue.authentication = authentication
            return dialogue
        }
        for held in [
            HeldResponse(.plain), HeldResponse(.cookie, bodyLength: 1 << 20, isTruncated: true),
            HeldResponse(.cookie, bodyLength: 1, lengthVerified: false),
            HeldResponse(.plain, bodyLength: 9, isTruncated: true, isDamaged: true),
        ] {
            var dialogue = dialogues[dialogues.count % 3]
            dialogue.held = held
            dialogues.append(dialogue)
        }
        var replaced = TaskDialogue()
        replaced.hasPassedBeginDate = true
        dialogues.append(replaced)
        for request: RequestRecord in [.plain, .rich, .staged] {
            replaced.replacementRequest = request
            dialogues.append(replaced)
        }
        replaced.held = HeldResponse(.cookie)
        replaced.becameTask = TaskID(rawValue: .max)
        dialogues.append(replaced)
        for kept in keptAnswers {
            var dialogue = TaskDialogue()
            dialogue.keptAnswer = kept
            dialogues.append(dialogue)
        }
        return dialogues.enumerated().map { index, dialogue in
            let created = makeTask(in: session, request: index % 2 == 0 ? .plain : .rich)
            var changed = created
            if index % 3 > 0 { changed = created.running(at: instant, isLive: index % 3 == 1) }
            if dialogue.becameTask != nil { changed = created.completed(at: instant) }
            if index % 5 == 0 { changed.currentRequest = .staged }
            changed.dialogue = dialogue
            return (created, changed)
        }
    }

    /// Answers that use every disposition and every member (S-77).
    private var keptAnswers: [KeptAnswer] {
        func notice(_ kind: DecisionKind) -> DecisionNotice {
            DecisionNotice(
                id: DecisionID(rawValue: 9), kind: kind, deadline: Timestamp(milliseconds: 5))
        }
        let challenge = EventBody.didReceiveChallenge(
            Challenge(.plain(.digest, realm: nil), failureResponse: .cookie),
            decision: notice(.taskChallenge))
        let redirect = EventBody.willPerformHTTPRedirection(
            .cookie, request: .rich, decision: notice(.redirect))
        let response = EventBody.didReceiveResponse(.cookie, decision: notice(.response))
        let cache = EventBody.willCacheResponse(.plain, decision: notice(.cache))
        let delayed = EventBody.willBeginDelayedRequest(
            .staged, decision: notice(.delayedRequest))
        let identity = ClientIdentity.pem(certificate: "-----BEGIN", key: "-----KEY")
        return [
            KeptAnswer(
                .challenge(
                    .useCredential(
                        Credential(
                            .password(user: "änn", password: "open sesame"),
                            persistence: .forSession))),
                to: challenge),
            KeptAnswer(
                .challenge(.useCredential(Credential(.identity(identity), persistence: .none))),
                to: challenge),
            KeptAnswer(
                .challenge(
                    .useCredential(Credential(.serverTrust(leaf: [1, 0]), persistence: .none))),
                to: challenge),
            KeptAnswer(.challenge(.useCredential(nil)), to: challenge),
            KeptAnswer(.challenge(.performDefaultHandling), to: challenge),
            KeptAnswer(.challenge(.cancelAuthenticationChallenge), to: challenge),
            KeptAnswer(.challenge(.rejectProtectionSpace), to: challenge),
            KeptAnswer(.redirect(.follow(nil)), to: redirect),
            KeptAnswer(.redirect(.follow(.rich)), to: redirect),
            KeptAnswer(.redirect(.stop), to: redirect),
            KeptAnswer(.redirect(.byDefault), to: redirect),
            KeptAnswer(.response(.allow), to: response),
            KeptAnswer(.response(.cancel), to: response),
            KeptAnswer(.response(.becomeDownload), to: response),
            KeptAnswer(.cache(.refuse), to: cache),
            KeptAnswer(.cache(.store(storagePolicy: nil, userInfo: nil)), to: cache),
            KeptAnswer(
                .cache(.store(storagePolicy: .allowedInMemoryOnly, userInfo: [:])), to: cache),
            KeptAnswer(
                .cache(.store(storagePolicy: nil, userInfo: ["mark": "7", "": "ä"])), to: cache),
            KeptAnswer(.delayedRequest(.continue), to: delayed),
            KeptAnswer(.delayedRequest(.useNewRequest(.staged)), to: delayed),
            KeptAnswer(.delayedRequest(.cancel), to: delayed),
        ]
    }
}
