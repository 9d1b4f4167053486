import TestSupport
import Testing

/// A request that is wrong, and the problem that it must be told.
struct BadInput: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let status: Int
    let code: String
    let pointer: String?
    let method: String
    let path: String
    let headers: HeaderLines
    let body: String?

    init(
        _ name: String, _ status: Int, _ code: String, at pointer: String? = nil,
        by method: String = "POST", _ path: String, _ headers: HeaderLines? = nil,
        body: String? = nil
    ) {
        testDescription = name
        (self.status, self.code, self.pointer) = (status, code, pointer)
        (self.method, self.path, self.body) = (method, path, body)
        self.headers = headers ?? (body == nil ? [:] : ["Content-Type": "application/json"])
    }

    /// A creation of a task whose description is wrong; `ORIGIN` in it is the origin's URL.
    static func task(
        _ name: String, _ code: String, at pointer: String, _ body: String
    ) -> BadInput {
        BadInput(name, 422, code, at: pointer, "/v1/sessions/shared/tasks", body: body)
    }

    /// A task's request with one more member.
    static func request(
        _ name: String, _ code: String, at pointer: String, _ member: String
    ) -> BadInput {
        task(name, code, at: pointer, #"{"type":"data","request":{"url":"ORIGIN",\#(member)}}"#)
    }

    /// A task for a URL.
    static func url(_ url: String, _ code: String = "invalid-url") -> BadInput {
        task(
            "URL \(url)", code, at: "/request/url",
            #"{"type":"data","resume":true,"request":{"url":"\#(url)"}}"#)
    }
}

extension BadInput {
    static let all =
        framing + json + sessions + tasks + requests + urls + places + bodies + continuations
        + limits + retries + keys

    private static let framing = [
        BadInput("no body", 400, "malformed-json", "/v1/sessions"),
        BadInput(
            "wrong content type", 415, "unsupported-media-type", "/v1/sessions",
            ["Content-Type": "text/plain"], body: "{}"),
        BadInput("no content type", 415, "unsupported-media-type", "/v1/sessions", [:], body: "{}"),
        BadInput(
            "body too large", 413, "body-too-large", "/v1/sessions",
            body: "{\"description\":\"" + String(repeating: "x", count: 1 << 20) + "\"}"),
        BadInput("unknown path", 404, "not-found", by: "GET", "/v1/nothing"),
        BadInput("unknown method of a path", 405, "method-not-allowed", by: "PUT", "/v1/sessions"),
        BadInput("unknown method", 501, "not-implemented", by: "BREW", "/v1/sessions"),
        BadInput(
            "unknown expectation", 417, "expectation-failed", "/v1/sessions",
            ["Expect": "tea", "Content-Type": "application/json"], body: "{}"),
        BadInput(
            "long request line", 414, "uri-too-long", by: "GET",
            "/v1/tasks?cursor=" + String(repeating: "x", count: 9000)),
        BadInput(
            "long header", 431, "header-too-large", by: "GET", "/v1/tasks",
            ["X-Long": String(repeating: "x", count: 33 << 10)]),
    ]

    private static let json = [
        BadInput("no JSON", 400, "malformed-json", "/v1/sessions", body: "type=default"),
        BadInput("cut JSON", 400, "malformed-json", "/v1/sessions", body: #"{"type":"default""#),
        BadInput("two values", 400, "malformed-json", "/v1/sessions", body: "{}{}"),
        BadInput(
            "not UTF-8 but an escape of half a pair", 400, "malformed-json", "/v1/sessions",
            body: #"{"description":"\ud800"}"#),
        BadInput(
            "too deep", 400, "malformed-json", "/v1/sessions/shared/tasks",
            body: #"{"type":"data","body":{"json":"#
                + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}}"),
        BadInput("an array", 422, "invalid-value", at: "", "/v1/sessions", body: "[]"),
        BadInput(
            "duplicate member", 400, "malformed-json", "/v1/sessions",
            body: #"{"type":"default","type":"ephemeral"}"#),
        BadInput(
            "duplicate member by escape", 400, "malformed-json", "/v1/sessions",
            body: #"{"type":"default","\u0074ype":"ephemeral"}"#),
    ]

    private static let sessions = [
        BadInput(
            "unknown member", 422, "unknown-member", at: "/colour", "/v1/sessions",
            body: #"{"type":"default","colour":1}"#),
        BadInput(
            "unknown property", 422, "unknown-member", at: "/configuration/colour", "/v1/sessions",
            body: #"{"type":"default","configuration":{"colour":1}}"#),
        BadInput(
            "unknown type", 422, "invalid-value", at: "/type", "/v1/sessions",
            body: #"{"type":"shared"}"#),
        BadInput(
            "wrong type", 422, "invalid-value", at: "/configuration/timeoutIntervalForRequest",
            "/v1/sessions", body: #"{"configuration":{"timeoutIntervalForRequest":"60"}}"#),
        BadInput(
            "no time at all", 422, "invalid-value", at: "/configuration/timeoutIntervalForRequest",
            "/v1/sessions", body: #"{"configuration":{"timeoutIntervalForRequest":0}}"#),
        BadInput(
            "no connection at all", 422, "invalid-value",
            at: "/configuration/httpMaximumConnectionsPerHost", "/v1/sessions",
            body: #"{"configuration":{"httpMaximumConnectionsPerHost":0}}"#),
        BadInput(
            "no such TLS", 422, "invalid-value",
            at: "/configuration/tlsMaximumSupportedProtocolVersion", "/v1/sessions",
            body: #"{"configuration":{"tlsMaximumSupportedProtocolVersion":"1.4"}}"#),
        BadInput(
            "TLS upside down", 422, "invalid-value",
            at: "/configuration/tlsMinimumSupportedProtocolVersion", "/v1/sessions",
            body: #"{"configuration":{"tlsMinimumSupportedProtocolVersion":"1.3","#
                + #""tlsMaximumSupportedProtocolVersion":"1.2"}}"#),
        BadInput(
            "no such decision", 422, "invalid-value", at: "/delegate/handles/0", "/v1/sessions",
            body: #"{"delegate":{"handles":["tea"]}}"#),
        BadInput(
            "line break in a session's header", 422, "invalid-header",
            at: "/configuration/httpAdditionalHeaders/X-A", "/v1/sessions",
            body: #"{"configuration":{"httpAdditionalHeaders":{"X-A":"a\r\nX-B: b"}}}"#),
        BadInput(
            "long description", 422, "invalid-value", at: "/description", "/v1/sessions",
            body: "{\"description\":\"" + String(repeating: "x", count: 1025) + "\"}"),
        BadInput(
            "no mode", 422, "invalid-value", at: "/mode", "/v1/sessions/shared/invalidate",
            body: "{}"),
        BadInput(
            "unknown mode", 422, "invalid-value", at: "/mode", "/v1/sessions/shared/invalidate",
            body: #"{"mode":"now"}"#),
    ]

    private static let tasks: [BadInput] = [
        .task("no type", "invalid-value", at: "/type", #"{"request":{"url":"ORIGIN"}}"#),
        .task("no request", "invalid-value", at: "/request", #"{"type":"data"}"#),
        .task("no URL", "invalid-value", at: "/request/url", #"{"type":"data","request":{}}"#),
        .task(
            "no such type", "invalid-value", at: "/type",
            #"{"type":"stream","request":{"url":"ORIGIN"}}"#),
        .task(
            "unknown member of a task", "unknown-member", at: "/colour",
            #"{"type":"data","colour":1,"request":{"url":"ORIGIN"}}"#),
        .task(
            "unknown member with a slash", "unknown-member", at: "/a~1b~0c",
            #"{"type":"data","a/b~c":1,"request":{"url":"ORIGIN"}}"#),
        .task(
            "priority too high", "invalid-value", at: "/priority",
            #"{"type":"data","priority":1.5,"request":{"url":"ORIGIN"}}"#),
        .task(
            "resume as a number", "invalid-value", at: "/resume",
            #"{"type":"data","resume":1,"request":{"url":"ORIGIN"}}"#),
        .task(
            "no such day", "invalid-value", at: "/earliestBeginDate",
            #"{"type":"data","earliestBeginDate":"2025-02-30T00:00:00Z","request":{"url":"ORIGIN"}}"#
        ),
        .task(
            "no digest", "invalid-value", at: "/expectedDigest",
            #"{"type":"data","expectedDigest":"md5=:AAAA:","request":{"url":"ORIGIN"}}"#),
        .task(
            "a path as file name", "invalid-value", at: "/fileName",
            #"{"type":"data","fileName":"../a","request":{"url":"ORIGIN"}}"#),
        .task(
            "a streamed download", "invalid-value", at: "/delivery",
            #"{"type":"download","delivery":"stream","request":{"url":"ORIGIN"}}"#),
        .task(
            "two bodies", "invalid-value", at: "/body",
            #"{"type":"data","body":{"text":"a","data":"YQ=="},"request":{"url":"ORIGIN"}}"#),
        .task(
            "no base64", "invalid-value", at: "/body/data",
            #"{"type":"data","body":{"data":"a*"},"request":{"url":"ORIGIN","method":"POST"}}"#),
        .task(
            "a body of a GET", "invalid-value", at: "/body",
            #"{"type":"data","body":{"text":"a"},"request":{"url":"ORIGIN"}}"#),
    ]

    private static let requests: [BadInput] =
        ["\\r\\n", "\\n", "\\r", "\\u0000", "\\u007f"].flatMap { control in
            [
                request(
                    "control \(control) in a value", "invalid-header", at: "/request/headers/X-A",
                    #""headers":{"X-A":"a\#(control)b"}"#),
                request(
                    "control \(control) in the method", "invalid-header", at: "/request/method",
                    #""method":"GET\#(control)X""#),
            ]
        }
        + [
            "Host", "Content-Length", "transfer-encoding", "Connection", "TE", "Trailer", "Upgrade",
            "Expect", "Proxy-Authorization",
        ].map { name in
            request(
                "the header \(name)", "invalid-header", at: "/request/headers/\(name)",
                #""headers":{"\#(name)":"x"}"#)
        }
        + [
            request(
                "a line break in a name", "invalid-header", at: "/request/headers/X-A: b\r\nX-B",
                #""headers":{"X-A: b\r\nX-B":"x"}"#),
            request(
                "a line break in an array", "invalid-header", at: "/request/headers/X-A",
                #""headers":{"X-A":["fine","not\nfine"]}"#),
            request(
                "a line break in a sensitive name", "invalid-header",
                at: "/request/sensitiveHeaders/0", #""sensitiveHeaders":["X\n"]"#),
            request(
                "the placeholder of a secret", "invalid-header",
                at: "/request/headers/Authorization",
                #""headers":{"Authorization":"<redacted>"}"#),
            request(
                "the method CONNECT", "invalid-header", at: "/request/method",
                #""method":"CONNECT""#),
            request(
                "the method trace", "invalid-header", at: "/request/method", #""method":"trace""#),
            request(
                "a number as header", "invalid-value", at: "/request/headers/X-A",
                #""headers":{"X-A":1}"#),
        ]

    private static let urls: [BadInput] = [
        .url(""), .url("no-scheme"), .url("//127.0.0.1/"), .url("http:/127.0.0.1/"),
        .url("http://user:password@127.0.0.1/"), .url("http://127.0.0.1:0/"),
        .url("http://127.0.0.1:99999/"), .url("http://[::1/"), .url("http://a b/"),
        .url("http://127.0.0.1./"),
        .url(#"http://127.0.0.1\\@good.example/"#), .url(#"http://127.0.0.1/\r\nX: y"#),
        .url(#"http://127.0.0.1/\u0000"#), .url("http://"),
        .url("ftp://127.0.0.1/", "unsupported-url"), .url("file:///etc/passwd", "unsupported-url"),
        .url("gopher://127.0.0.1/", "unsupported-url"), .url("data:,x", "unsupported-url"),
    ]

    private static let places = [
        BadInput("unknown session", 404, "not-found", by: "GET", "/v1/sessions/ses_000000000000"),
        BadInput("no session's id", 404, "not-found", by: "GET", "/v1/sessions/tsk_000000000000"),
        BadInput("unknown task", 404, "not-found", by: "GET", "/v1/tasks/tsk_000000000000"),
        BadInput("no task's id", 404, "not-found", "/v1/tasks/1/resume"),
        BadInput(
            "unknown session's events", 404, "not-found", by: "GET",
            "/v1/sessions/ses_000000000000/events"),
        BadInput(
            "unknown session's tasks", 404, "not-found", "/v1/sessions/ses_000000000000/tasks",
            body: #"{"type":"data","request":{"url":"ORIGIN"}}"#),
        BadInput("replay of some", 422, "invalid-value", by: "GET", "/v1/events?replay=some"),
        BadInput(
            "an unknown answer", 422, "invalid-value", "/v1/sessions/shared/tasks?answer=task",
            body: #"{"type":"data","request":{"url":"ORIGIN"}}"#),
    ]
}
