import Engine
import HTTP
import Loop
import Semantics
import TestSupport
import Testing

@testable import REST

/// What a client's words to a decision mean (§7); of every kind.
struct AnswerTests {
    private static let response = ResponseRecord(
        url: "http://host/", status: 200, httpVersion: "1.1", headers: HeaderList(),
        expectedContentLength: 0, mimeType: nil, textEncodingName: nil, suggestedFilename: "host")
    private static let leaf = [UInt8](repeating: 7, count: 32)
    private static let digest = "sha-256=:" + Base64Text.text(leaf) + ":"

    private static func url(_ path: String) -> WebURL {
        WebURL(string: "http://host\(path)", scheme: "http", host: "host", port: 80, path: path)
    }

    private static func decision(
        _ kind: DecisionKind, _ method: AuthenticationMethod = .basic
    ) -> DecisionRecord {
        let notice = DecisionNotice(
            id: DecisionID(rawValue: 1), kind: kind, deadline: Timestamp(milliseconds: 1))
        let proposed = RequestRecord(url: url("/proposed"), method: "PUT")
        let space = ProtectionSpace(host: "host", port: 80, scheme: "http", method: method)
        let question: EventBody =
            switch kind {
            case .sessionChallenge, .taskChallenge:
                .didReceiveChallenge(Challenge(space), decision: notice)
            case .redirect:
                .willPerformHTTPRedirection(response, request: proposed, decision: notice)
            case .response: .didReceiveResponse(response, decision: notice)
            case .cache: .willCacheResponse(response, decision: notice)
            case .delayedRequest: .willBeginDelayedRequest(proposed, decision: notice)
            case .bodyStream: .needNewBodyStream(generation: 1, decision: notice)
            }
        return DecisionRecord(
            id: notice.id, tenant: TenantID(rawValue: 1), session: SessionID(rawValue: 2),
            task: TaskID(rawValue: 3), kind: kind, createdAt: Timestamp(milliseconds: 0),
            deadline: notice.deadline, question: question)
    }

    @LoopActor
    private static func answer(
        _ words: TestJSON, to decision: DecisionRecord
    ) async throws -> DecisionAnswer {
        let session = SessionRecord(
            id: decision.session, tenant: decision.tenant, type: .default, description: nil,
            configuration: SessionConfiguration(), delegate: nil,
            createdAt: Timestamp(milliseconds: 0))
        let sources = RequestSources(
            parse: { _ throws(URLRejection) in url("/another") },
            current: { () throws(Problem) in
                RequestRecord(
                    url: url("/first"), method: "POST", headers: ["Content-Type": "a/b"],
                    body: .bytes([1]))
            },
            body: { _, _ throws(Problem) in (.bytes([2]), "c/d") })
        return try await AnswerDraft(parsing: try words.text()).answer(
            to: decision, in: session, from: sources)
    }

    private static func use(_ credential: Credential?) -> DecisionAnswer {
        .challenge(.useCredential(credential))
    }

    private static func using(_ credential: TestJSON) -> TestJSON {
        ["disposition": "useCredential", "credential": credential]
    }

    @Test(
        arguments: [
            (.taskChallenge, using(nil), use(nil)),
            (
                .taskChallenge, .password("a", "b"),
                use(Credential(.password(user: "a", password: "b")))
            ),
            (
                .sessionChallenge, .password("", "", persistence: "forSession"),
                use(Credential(.password(user: "", password: ""), persistence: .forSession))
            ),
            (
                .sessionChallenge, using(["serverTrust": .string(digest)]),
                use(Credential(.serverTrust(leaf: leaf)))
            ),
            (
                .sessionChallenge,
                using(["certificate": ["pem": "c", "key": "k"], "persistence": "none"]),
                use(Credential(.identity(.pem(certificate: "c", key: "k"))))
            ),
            (
                .sessionChallenge, using(["certificate": ["pkcs12": "AQID", "passphrase": "p"]]),
                use(Credential(.identity(.pkcs12(bytes: [1, 2, 3], passphrase: "p"))))
            ),
            (
                .sessionChallenge, using(["certificate": ["pkcs12": "AQID"]]),
                use(Credential(.identity(.pkcs12(bytes: [1, 2, 3], passphrase: ""))))
            ),
            (
                .taskChallenge, .disposition("rejectProtectionSpace"),
                .challenge(.rejectProtectionSpace)
            ),
            (.redirect, .disposition("follow"), .redirect(.follow(nil))),
            (.redirect, .disposition("stop"), .redirect(.stop)),
            (.response, .disposition("becomeDownload"), .response(.becomeDownload)),
            (
                .cache, .disposition("store"), .cache(.store(storagePolicy: nil, userInfo: nil))
            ),
            (
                .cache,
                [
                    "disposition": "store", "storagePolicy": "allowedInMemoryOnly",
                    "userInfo": ["a": "b"],
                ], .cache(.store(storagePolicy: .allowedInMemoryOnly, userInfo: ["a": "b"]))
            ),
            (.cache, .disposition("refuse"), .cache(.refuse)),
            (.delayedRequest, .disposition("continue"), .delayedRequest(.continue)),
            (.delayedRequest, .disposition("cancel"), .delayedRequest(.cancel)),
            (
                .delayedRequest,
                ["disposition": "useNewRequest", "request": ["url": "x", "method": "GET"]],
                .delayedRequest(.useNewRequest(RequestRecord(url: url("/another"))))
            ),
            (
                .delayedRequest, ["disposition": "useNewRequest", "request": ["url": "x"]],
                .delayedRequest(
                    .useNewRequest(RequestRecord(url: url("/another"), method: "PUT")))
            ),
        ] as [(DecisionKind, TestJSON, DecisionAnswer)])
    func `each disposition is read with what goes with it`(
        kind: DecisionKind, words: TestJSON, meaning: DecisionAnswer
    ) async throws {
        #expect(try await Self.answer(words, to: Self.decision(kind)) == meaning)
        #expect(meaning.answers(kind))
    }

    @Test(
        arguments: [
            (.taskChallenge, using([:]), "invalid-value", "/credential"),
            (.taskChallenge, using("a"), "invalid-value", "/credential"),
            (.taskChallenge, using(["user": "a"]), "invalid-value", "/credential/password"),
            (.taskChallenge, using(["password": "a"]), "invalid-value", "/credential/user"),
            (
                .taskChallenge, using(["user": nil, "password": "a"]), "invalid-value",
                "/credential/user"
            ),
            (
                .taskChallenge,
                using(["user": "a", "password": "b", "serverTrust": .string(digest)]),
                "invalid-value", "/credential"
            ),
            (
                .taskChallenge, using(["user": "a", "password": "b", "realm": "c"]),
                "unknown-member", "/credential/realm"
            ),
            (
                .taskChallenge, .password("a", "b", persistence: "always"), "invalid-value",
                "/credential/persistence"
            ),
            (
                .sessionChallenge,
                using(["serverTrust": .string(digest), "persistence": "none"]), "invalid-value",
                "/credential/persistence"
            ),
            (
                .sessionChallenge, using(["serverTrust": "sha-256=:AAAA:"]), "invalid-value",
                "/credential/serverTrust"
            ),
            (
                .sessionChallenge, using(["serverTrust": true]), "invalid-value",
                "/credential/serverTrust"
            ),
            (
                .sessionChallenge, using(["certificate": [:]]), "invalid-value",
                "/credential/certificate/pem"
            ),
            (
                .sessionChallenge, using(["certificate": ["pem": "c"]]), "invalid-value",
                "/credential/certificate/key"
            ),
            (
                .sessionChallenge, using(["certificate": ["pem": "c", "pkcs12": "AQID"]]),
                "invalid-value", "/credential/certificate"
            ),
            (
                .sessionChallenge, using(["certificate": ["pkcs12": "*"]]), "invalid-value",
                "/credential/certificate/pkcs12"
            ),
            (
                .sessionChallenge,
                using(["certificate": ["pem": "c", "key": "k", "passphrase": "p"]]),
                "invalid-value", "/credential/certificate/passphrase"
            ),
            (
                .cache, ["disposition": "store", "storagePolicy": "maybe"], "invalid-value",
                "/storagePolicy"
            ),
            (
                .cache, ["disposition": "store", "userInfo": ["a": 1]], "invalid-value",
                "/userInfo/a"
            ),
            (
                .cache, ["disposition": "refuse", "storagePolicy": "allowed"], "unknown-member",
                "/storagePolicy"
            ),
            (
                .response, ["disposition": "allow", "request": ["url": "x"]], "unknown-member",
                "/request"
            ),
            (
                .taskChallenge, ["disposition": "performDefaultHandling", "credential": nil],
                "unknown-member", "/credential"
            ),
        ] as [(DecisionKind, TestJSON, String, String)])
    func `what does not belong is refused where it stands`(
        kind: DecisionKind, words: TestJSON, code: String, pointer: String
    ) async throws {
        let problem = try await #require(throws: Problem.self) {
            try await Self.answer(words, to: Self.decision(kind))
        }
        #expect(problem.status == 422 && problem.code == code && problem.pointer == pointer)
    }

    @Test(arguments: DecisionKind.allCases)
    func `a disposition of another kind is none, whatever stands beside it`(
        kind: DecisionKind
    ) async throws {
        for word in ["", "Allow", "default", "useCredentials"] {
            let words: TestJSON = ["disposition": .string(word), "request": 1, "credential": 2]
            let problem = try await #require(throws: Problem.self) {
                try await Self.answer(words, to: Self.decision(kind))
            }
            #expect(problem.code == "unknown-disposition" && problem.pointer == "/disposition")
        }
    }

    @Test func `a body stream is answered by the body itself (S-73)`() async throws {
        let decision = Self.decision(.bodyStream)
        let problem = try await #require(throws: Problem.self) {
            try await Self.answer(.disposition("continue"), to: decision)
        }
        #expect(problem.code == "unknown-disposition")
        #expect(problem.detail?.contains("PUT /v1/tasks/\(decision.task)/body?gen") == true)
    }

    @Test func `a user name of Digest may have a colon (RFC 7617)`() async throws {
        let words = TestJSON.password("a:b", "c")
        let answer = try await Self.answer(words, to: Self.decision(.taskChallenge, .digest))
        #expect(answer == Self.use(Credential(.password(user: "a:b", password: "c"))))
    }
}
