import TestSupport
import Testing

/// A request that changes something, and where that is seen.
struct Change: Sendable, CustomTestStringConvertible {
    /// What the body of its answer is.
    enum Answer {
        case none
        /// What a GET of the request's own path shows, or of that without its last word.
        case ofPath
        /// What a GET of `Location` shows.
        case ofLocation
    }

    let method: String
    /// With names in braces, which stand for what the scene has.
    let target: String
    let headers: HeaderLines
    let body: String?
    let places: [String]
    let answer: Answer

    private init(
        _ request: String, _ headers: HeaderLines, body: String?, seen places: [String],
        _ answer: Answer
    ) {
        let words = request.split(separator: " ")
        method = String(words[0])
        target = String(words[1])
        self.headers = headers
        self.body = body
        self.places = places
        self.answer = answer
    }

    /// A request with a JSON body or none.
    private init(
        _ request: String, _ json: TestJSON? = nil, _ headers: HeaderLines = [:],
        seen places: String..., answer: Answer = .none
    ) {
        let body = json.flatMap { try? $0.text() }.map { String(decoding: $0, as: UTF8.self) }
        let type: HeaderLines = body == nil ? [:] : ["Content-Type": "application/json"]
        self.init(request, headers.appending(type), body: body, seen: places, answer)
    }

    /// A request with a body of bytes.
    private init(
        _ request: String, bytes: String, _ headers: HeaderLines = [:], seen places: String...
    ) {
        self.init(request, headers, body: bytes, seen: places, .none)
    }

    var testDescription: String { "\(method) \(target) \(body?.prefix(60) ?? "")" }

    /// The operation of openapi.yaml.
    var operation: String {
        let path = target.split(separator: "?")[0].split(separator: "/").map { part in
            Change.kinds[String(part)] ?? String(part)
        }
        return "\(method) /\(path.joined(separator: "/"))"
    }

    /// The parameters that the names of the scene stand for.
    private static let kinds: [String: String] = [
        "{doomed}": "{session}", "{asking}": "{session}", "{finished}": "{task}",
        "{gone}": "{task}", "{resting}": "{task}", "{running}": "{task}", "{upload}": "{task}",
        "{part}": "{file}", "{delivery}": "{event}",
    ]

    /// Every way to change something.
    static let all: [Change] = [
        .init("POST /v1/sessions", [:], seen: "/v1/sessions", answer: .ofLocation),
        .init(
            "POST /v1/sessions", [:], ["Idempotency-Key": "1"], seen: "/v1/sessions",
            answer: .ofLocation),
        .init(
            "PATCH /v1/sessions/{session}",
            ["description": "new", "maximumBytesPerSecond": 1000, "metadata": ["a": "b"]],
            seen: "/v1/sessions", "/v1/sessions/{session}", answer: .ofPath),
        .init(
            "POST /v1/sessions/{doomed}/invalidate", ["mode": "finishTasks"],
            seen: "/v1/sessions", "/v1/sessions/{doomed}", answer: .ofPath),
        .init(
            "POST /v1/sessions/{doomed}/invalidate", ["mode": "cancelTasks"],
            seen: "/v1/sessions/{doomed}", "/v1/sessions/{doomed}/tasks", "/v1/tasks/{waiting}",
            "/v1/tasks/{endless}", answer: .ofPath),
        .init(
            "POST /v1/sessions/{session}/reset", seen: "/v1/sessions/{session}/cookies",
            "/v1/sessions/{session}/credentials", "/v1/sessions/{session}/cache"),

        .init(
            "POST /v1/sessions/{session}/cookies",
            ["name": "new", "value": "1", "domain": "127.0.0.1"],
            seen: "/v1/sessions/{session}/cookies"),
        .init(
            "POST /v1/sessions/{session}/cookies",
            bytes: "127.0.0.1\tFALSE\t/\tFALSE\t0\tnew\t1\n", ["Content-Type": "text/plain"],
            seen: "/v1/sessions/{session}/cookies"),
        .init(
            "DELETE /v1/sessions/{session}/cookies?name=old",
            seen: "/v1/sessions/{session}/cookies"),
        .init(
            "PUT /v1/sessions/{session}/credentials",
            [
                "protectionSpace": [
                    "host": "127.0.0.1", "port": 80, "protocol": "http", "realm": "new",
                    "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
                ],
                "user": "new", "password": "secret", "persistence": "permanent",
            ], seen: "/v1/sessions/{session}/credentials"),
        .init(
            "DELETE /v1/sessions/{session}/credentials?user=old",
            seen: "/v1/sessions/{session}/credentials"),
        .init(
            "DELETE /v1/sessions/{session}/cache", seen: "/v1/sessions/{session}/cache",
            "/v1/sessions/{session}/cache?url={origin}/small"),

        .init(
            "POST /v1/sessions/{session}/tasks", task("/small"),
            seen: "/v1/tasks", "/v1/sessions/{session}/tasks", "/v1/sessions/{session}",
            answer: .ofLocation),
        .init(
            "POST /v1/sessions/{session}/tasks", task("/endless", ["resume": true]),
            seen: "/v1/tasks", answer: .ofLocation),
        .init(
            "POST /v1/sessions/{session}/tasks", task("/new", ["resume": true]),
            ["Idempotency-Key": "1"], seen: "/v1/tasks?state=all"),
        .init(
            "POST /v1/sessions/{session}/tasks", [task("/small"), task("/small")],
            seen: "/v1/tasks"),
        .init(
            "POST /v1/sessions/{session}/tasks?answer=content", task("/new", ["resume": true]),
            seen: "/v1/tasks?state=all", "/v1/sessions/{session}/cache"),
        .init(
            "PATCH /v1/tasks/{resting}", ["description": "new", "priority": 1],
            seen: "/v1/tasks/{resting}", "/v1/tasks", answer: .ofPath),
        .init(
            "PATCH /v1/tasks/{finished}", ["description": "new", "metadata": ["a": "b"]],
            seen: "/v1/tasks/{finished}", "/v1/tasks?state=completed", answer: .ofPath),
        .init(
            "DELETE /v1/tasks/{gone}", seen: "/v1/tasks/{gone}", "/v1/tasks/{gone}/content",
            "/v1/tasks?state=all", "/v1/sessions/{session}"),
        .init(
            "POST /v1/tasks/{resting}/resume",
            seen: "/v1/tasks/{resting}", "/v1/tasks?state=running", answer: .ofPath),
        .init(
            "POST /v1/tasks/{running}/suspend",
            seen: "/v1/tasks/{running}", "/v1/tasks?state=suspended", answer: .ofPath),
        .init(
            "POST /v1/tasks/{running}/cancel",
            seen: "/v1/tasks/{running}", "/v1/tasks?state=completed", "/v1/sessions/{session}",
            answer: .ofPath),
        .init(
            "POST /v1/tasks/{running}/cancel", ["producingResumeData": true],
            seen: "/v1/tasks/{running}", "/v1/tasks?state=completed"),
        .init(
            "POST /v1/tasks/{finished}/retry", seen: "/v1/tasks?state=all",
            "/v1/sessions/{session}", answer: .ofLocation),
        .init(
            "POST /v1/tasks/{finished}/retry", nil, ["Idempotency-Key": "1"],
            seen: "/v1/tasks?state=all", answer: .ofLocation),
        .init(
            "POST /v1/tasks/actions", ["action": "delete", "tasks": ["{gone}"]],
            seen: "/v1/tasks/{gone}", "/v1/tasks?state=all", "/v1/sessions/{session}"),
        .init(
            "POST /v1/tasks/actions",
            ["action": "resume", "filter": ["session": "{session}", "state": ["suspended"]]],
            seen: "/v1/tasks/{resting}", "/v1/tasks?state=running"),
        .init(
            "PUT /v1/tasks/{upload}/body?generation=1", bytes: "bytes",
            seen: "/v1/decisions/{bodyDecision}"),
        .init(
            "PUT /v1/tasks/{upload}/body?generation=1", bytes: "",
            seen: "/v1/decisions/{bodyDecision}"),

        .init("POST /v1/files", bytes: "bytes", seen: "/v1/files"),
        .init(
            "POST /v1/files", bytes: "", ["Upload-Complete": "?0", "Idempotency-Key": "1"],
            seen: "/v1/files"),
        .init(
            "PATCH /v1/files/{part}", bytes: "bytes",
            ["Upload-Offset": "5", "Upload-Complete": "?1"], seen: "/v1/files"),
        .init("DELETE /v1/files/{file}", seen: "/v1/files", "/v1/files/{file}"),

        .init(
            "POST /v1/decisions/{decision}", ["disposition": "cancel"],
            seen: "/v1/decisions/{decision}"),
        .init(
            "POST /v1/decisions/{decision}", ["disposition": "becomeDownload"],
            seen: "/v1/decisions/{decision}", "/v1/tasks?state=all"),
        .init(
            "POST /v1/webhooks", ["url": "{origin}/echo", "events": ["session.didFinishEvents"]],
            seen: "/v1/webhooks"),
        .init(
            "PATCH /v1/webhooks/{webhook}", ["events": ["*"]],
            seen: "/v1/webhooks", "/v1/webhooks/{webhook}", answer: .ofPath),
        .init(
            "DELETE /v1/webhooks/{webhook}", seen: "/v1/webhooks", "/v1/webhooks/{webhook}",
            "/v1/webhooks/{webhook}/deliveries"),
        .init(
            "POST /v1/webhooks/{webhook}/replay", ["after": "t.0"],
            seen: "/v1/webhooks/{webhook}", "/v1/webhooks/{webhook}/deliveries", answer: .ofPath),
        .init(
            "POST /v1/webhooks/{webhook}/deliveries/{delivery}/retry",
            seen: "/v1/webhooks/{webhook}/deliveries"),

        .init(
            "POST /v1/tenants", ["name": "other", "quotas": ["sessions": 1]],
            seen: "/v1/tenants", "/v1/tenants/other", answer: .ofLocation),
        .init(
            "PATCH /v1/tenants/{tenant}", ["quotas": ["sessions": .null]],
            seen: "/v1/tenants", "/v1/tenants/{tenant}", answer: .ofPath),
        .init("DELETE /v1/tenants/{tenant}", seen: "/v1/tenants", "/v1/tenants/{tenant}"),
        .init("POST /v1/tokens", ["tenant": "default", "scopes": ["read"]], seen: "/v1/tokens"),
        .init("DELETE /v1/tokens/{token}", seen: "/v1/tokens", "/v1/tokens/{token}"),
        .init(
            "PATCH /v1/gateway", ["maximumBytesPerSecond": 1_000_000], seen: "/v1/gateway",
            answer: .ofPath),
    ]

    /// Changes what no GET shows.
    static let flush = Change("POST /v1/sessions/{session}/flush")

    /// Operations that are not in `all`, each with the reason.
    static let others: [String: String] = [
        "POST /v1/sessions/{session}/flush": "no GET shows it: it has a test of its own",
        "POST /v1/webhooks/{webhook}/rotate-secret": "no GET shows a secret",
        "POST /v1/webhooks/{webhook}/test": "it changes nothing",
        "POST /v1/browser-session": "a browser's session is in memory, and ends with the process",
        "DELETE /v1/browser-session": "as it is started",
        "PATCH /v1/nodes/{node}": "a gateway alone has none, and nodes tell each other at once",
    ]

    private static func task(_ path: String, _ members: [String: TestJSON] = [:]) -> TestJSON {
        TestSession.spec("data", "{origin}\(path)", members)
    }
}
