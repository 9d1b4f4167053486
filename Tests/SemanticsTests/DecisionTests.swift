import Testing

import Semantics

private let url = WebURL(string: "-", scheme: "http", host: "a", port: 80, path: "/")

struct DelegateOptionsTests {
    private static let session: [AuthenticationMethod] = [
        .ntlm, .negotiate, .clientCertificate, .serverTrust,
    ]
    private static let task: [AuthenticationMethod] = [.basic, .digest, .other("Bearer")]

    @Test(
        arguments: [
            ([], nil, nil),
            ([.redirect, .response, .cache, .delayedRequest, .bodyStream], nil, nil),
            ([.sessionChallenge], .sessionChallenge, nil),
            ([.taskChallenge], .taskChallenge, .taskChallenge),
            ([.sessionChallenge, .taskChallenge], .sessionChallenge, .taskChallenge),
        ] as [(Set<DecisionKind>, DecisionKind?, DecisionKind?)])
    func `S-63, S-64: the level that is declared is asked, and tasks only of their own`(
        handles: Set<DecisionKind>, ofSession: DecisionKind?, ofTask: DecisionKind?
    ) {
        var delegate = DelegateOptions()
        delegate.handles = handles
        for (methods, kind) in [(Self.session, ofSession), (Self.task, ofTask)] {
            for method in methods {
                #expect(delegate.challengeKind(of: method) == kind, "\(method)")
                var space = ProtectionSpace(url.origin, method: method)
                #expect(delegate.challengeKind(of: space) == kind, "\(method)")
                space.isProxy = true
                #expect(delegate.challengeKind(of: space) == ofTask, "\(method) of a proxy")
            }
        }
    }
}

struct DecisionAnswerTests {
    @Test(
        arguments: [
            (.challenge(.performDefaultHandling), [.sessionChallenge, .taskChallenge]),
            (.redirect(.stop), [.redirect]), (.response(.allow), [.response]),
            (.cache(.refuse), [.cache]), (.delayedRequest(.cancel), [.delayedRequest]),
        ] as [(DecisionAnswer, Set<DecisionKind>)])
    func `an answer is one to decisions of its own kind, and none to a body's`(
        answer: DecisionAnswer, kinds: Set<DecisionKind>
    ) {
        #expect(Set(DecisionKind.allCases.filter(answer.answers)) == kinds)
    }
}

struct TaskDialogueTests {
    @Test func `each part is kept by itself, and taking it back leaves nothing`() {
        let response = ResponseRecord(
            url: "http://a/", status: 401, httpVersion: "1.1", headers: [:],
            expectedContentLength: 0, mimeType: nil, textEncodingName: nil,
            suggestedFilename: "a")
        var dialogue = TaskDialogue()
        dialogue.held = HeldResponse(response, bodyLength: 3)
        dialogue.becameTask = TaskID(rawValue: 7)
        dialogue.replacementRequest = RequestRecord(url: url, method: "PUT")
        dialogue.hasPassedBeginDate = true
        dialogue.authentication.identity = .without
        let kept = KeptAnswer(.challenge(.performDefaultHandling), to: .didCreate)
        dialogue.keptAnswer = kept
        #expect(dialogue.keptAnswer == kept)
        #expect(dialogue.held == HeldResponse(response, bodyLength: 3))
        #expect(dialogue.becameTask == TaskID(rawValue: 7))
        #expect(dialogue.replacementRequest?.method == "PUT")
        #expect(dialogue.hasPassedBeginDate)
        #expect(dialogue.authentication.identity == .without)

        let copy = dialogue
        let removals: [(inout TaskDialogue) -> Void] = [
            { $0.held = nil }, { $0.becameTask = nil }, { $0.replacementRequest = nil },
            { $0.hasPassedBeginDate = false }, { $0.keptAnswer = nil },
            { $0.authentication = TaskAuthentication() },
        ]
        for remove in removals {
            #expect(dialogue != TaskDialogue())
            remove(&dialogue)
        }
        #expect(dialogue == TaskDialogue())
        #expect(copy.becameTask == TaskID(rawValue: 7), "a copy has its own parts")
    }

    @Test func `setting what is so already says nothing`() {
        var dialogue = TaskDialogue()
        dialogue.held = nil
        dialogue.becameTask = nil
        dialogue.replacementRequest = nil
        dialogue.hasPassedBeginDate = false
        dialogue.authentication = TaskAuthentication()
        #expect(dialogue == TaskDialogue())
    }
}
