import Engine
import Semantics

/// A question as an event asks it.
struct Question: Sendable {
    let kind: DecisionKind
    let event: @Sendable (DecisionNotice) -> EventBody

    /// Every kind of question, in its plainest form and in those that use every member.
    static let all: [Question] =
        challenges.map { challenge in
            Question(kind: challenge.space.method.isOfSession ? .sessionChallenge : .taskChallenge)
            { .didReceiveChallenge(challenge, decision: $0) }
        } + [
            Question(kind: .bodyStream) { .needNewBodyStream(generation: 3, decision: $0) },
            Question(kind: .redirect) {
                .willPerformHTTPRedirection(.plain, request: .plain, decision: $0)
            },
            Question(kind: .redirect) {
                .willPerformHTTPRedirection(.cookie, request: .rich, decision: $0)
            },
            Question(kind: .redirect) {
                .willPerformHTTPRedirection(.plain, request: .staged, decision: $0)
            },
            Question(kind: .response) { .didReceiveResponse(.plain, decision: $0) },
            Question(kind: .response) { .didReceiveResponse(.cookie, decision: $0) },
            Question(kind: .cache) { .willCacheResponse(.plain, decision: $0) },
            Question(kind: .cache) { .willCacheResponse(.cookie, decision: $0) },
            Question(kind: .delayedRequest) { .willBeginDelayedRequest(.plain, decision: $0) },
            Question(kind: .delayedRequest) { .willBeginDelayedRequest(.rich, decision: $0) },
        ]

    /// Challenges that together use every member.
    static let challenges: [Challenge] = [
        Challenge(.plain(.basic)),
        Challenge(
            .plain(.digest, realm: "", isProxy: true), previousFailureCount: 2,
            failureResponse: .plain),
        Challenge(
            .plain(.ntlm, realm: "\"a\" \\ ümläut 🚢"), previousFailureCount: .max,
            proposedCredential: ShownCredential(user: "änn", persistence: .forSession),
            failureResponse: .cookie),
        Challenge(
            .plain(.negotiate, realm: nil),
            proposedCredential: ShownCredential(user: nil, persistence: .none)),
        // What a server may call its own schemes.
        Challenge(
            .plain(.other("NSURLAuthenticationMethodHTTPBasic")),
            proposedCredential: ShownCredential(user: "", persistence: .permanent)),
        Challenge(.plain(.other("")), failureResponse: .cookie),
        Challenge(
            .plain(.clientCertificate, realm: nil),
            distinguishedNames: ["CN=A\\, B,O=\"c\"", "", "CN=ü"]),
        Challenge(
            .plain(.serverTrust, realm: nil),
            serverTrust: ServerTrust(
                chain: [.certificate(1), .certificate(2)],
                failures: [
                    VerificationFailure(code: 10, message: "certificate has expired", depth: 0),
                    VerificationFailure(code: -1, message: "", depth: 1),
                ])),
        Challenge(.plain(.serverTrust), serverTrust: ServerTrust(chain: [], failures: [])),
    ]
}

extension World {
    /// A decision that a task waits for.
    mutating func makeDecision(_ question: Question, of task: TaskRecord) -> DecisionRecord {
        tick()
        let id = DecisionID(rawValue: nextIdentifier())
        let deadline = Timestamp(milliseconds: instant.milliseconds + 60_000)
        let notice = DecisionNotice(id: id, kind: question.kind, deadline: deadline)
        return DecisionRecord(notice, question.event(notice), of: task, at: instant)
    }
}

extension DecisionRecord {
    /// The decision that an event of a task asks for.
    init(
        _ notice: DecisionNotice, _ question: EventBody, of task: TaskRecord, at instant: Timestamp
    ) {
        self.init(
            id: notice.id, tenant: task.tenant, session: task.session, task: task.id,
            kind: notice.kind, createdAt: instant, deadline: notice.deadline, question: question)
    }
}

extension ProtectionSpace {
    static func plain(
        _ method: AuthenticationMethod, realm: String? = "staff", isProxy: Bool = false
    ) -> ProtectionSpace {
        ProtectionSpace(
            host: "fe80::1", port: 8443, scheme: "https", realm: realm, method: method,
            isProxy: isProxy)
    }
}

extension CertificateRecord {
    /// A certificate that differs from those of other numbers.
    static func certificate(_ number: Int, pemLength: Int = 40) -> CertificateRecord {
        CertificateRecord(
            pem: "-----BEGIN CERTIFICATE-----\n\(String(repeating: "A", count: pemLength))\n",
            subject: "CN=\(number),O=ü", issuer: "", serialNumber: "0\(number)FF",
            notBefore: Timestamp(milliseconds: -Int64(number)),
            notAfter: Timestamp(milliseconds: World.start),
            alternativeNames: number == 1 ? ["a.example", "*.b.example", "192.0.2.1"] : [],
            fingerprint: Array(repeating: UInt8(number), count: 32))
    }
}

extension RequestRecord {
    /// A request with secrets in its headers and in its body.
    static let rich = RequestRecord(
        url: .plain, method: "POST", headers: ["Authorization": "Bearer x", "X-Key": "k"],
        sensitiveHeaders: ["x-key"], cachePolicy: .reloadIgnoringLocalCacheData,
        timeoutInterval: 0.5, body: .bytes(Array(0...255)))

    /// A request whose body is a staged file.
    static let staged = RequestRecord(
        url: .plain, method: "PUT", body: .file(FileID(rawValue: 7), length: 9))
}

extension ResponseRecord {
    /// A redirect that sets a cookie.
    static let cookie: ResponseRecord = {
        var response = ResponseRecord.plain
        response.status = 302
        response.httpVersion = "2"
        response.headers = ["Set-Cookie": "s=1", "Location": "/b", "X": ""]
        response.mimeType = nil
        response.expectedContentLength = unknownSize
        return response
    }()
}
