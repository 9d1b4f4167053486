import TestSupport

/// What is wrong with bodies, resume data, limits, ranges, retries and keys.
extension BadInput {
    /// A task with more members, in the shared session; `ORIGIN` is the origin's URL.
    private static func transfer(
        _ name: String, _ code: String = "invalid-value", at pointer: String, type: String = "data",
        method: String = "POST", _ members: String, headers: String = "{}"
    ) -> BadInput {
        let request = #"{"url":"ORIGIN","method":"\#(method)","headers":\#(headers)}"#
        return task(
            name, code, at: pointer, #"{"type":"\#(type)","request":\#(request),\#(members)}"#)
    }

    /// S-37…S-40.
    static let bodies: [BadInput] = [
        transfer(
            "another Content-Length than the body's", "invalid-header",
            at: "/request/headers/content-length",
            #""body":{"text":"a"}"#, headers: #"{"content-length":"2"}"#),
        transfer(
            "a Content-Length of nothing", "invalid-header", at: "/request/headers/Content-Length",
            #""description":null"#, headers: #"{"Content-Length":"1"}"#),
        transfer(
            "an upload by GET", at: "/body", type: "upload", method: "GET",
            #""body":{"text":"a"}"#),
        transfer("a body of a HEAD", at: "/body", method: "HEAD", #""body":{"text":"a"}"#),
        transfer("an empty body object", at: "/body", #""body":{}"#),
        transfer("no such kind of body", "unknown-member", at: "/body/tea", #""body":{"tea":1}"#),
        transfer("no file's id", at: "/body/file", #""body":{"file":"tsk_000000000000"}"#),
        transfer("no such file", at: "/body/file", #""body":{"file":"fil_000000000000"}"#),
        transfer("no task's id", at: "/body/task", #""body":{"task":"fil_000000000000"}"#),
        transfer("no such task", at: "/body/task", #""body":{"task":"tsk_000000000000"}"#),
        transfer(
            "a stream nobody is asked for (S-39)", "delegate-required", at: "/body/stream",
            #""body":{"stream":{}}"#),
        transfer(
            "a stream of less than nothing", at: "/body/stream/contentLength",
            #""body":{"stream":{"contentLength":-2}}"#),
        transfer(
            "a stream of something", "unknown-member", at: "/body/stream/of",
            #""body":{"stream":{"of":1}}"#),
        BadInput(
            "a body for nobody", 404, "not-found", by: "PUT",
            "/v1/tasks/tsk_000000000000/body?generation=1", [:], body: "bytes"),
    ]

    /// S-34, S-36.
    static let continuations: [BadInput] = [
        transfer(
            "resume data beside a request", at: "/request", type: "download", method: "GET",
            #""resumeData":"AAAA""#),
        .task(
            "resume data of a data task", "invalid-value", at: "/resumeData",
            #"{"type":"data","resumeData":"AAAA"}"#),
        .task(
            "resume data beside a body", "invalid-value", at: "/body",
            #"{"type":"download","resumeData":"AAAA","body":{"text":"a"}}"#),
        .task(
            "foreign resume data", "invalid-resume-data", at: "/resumeData",
            #"{"type":"download","resumeData":"c2VhbGVkIGJ5IGFub3RoZXIgZ2F0ZXdheQ"}"#),
        .task(
            "no resume data", "invalid-resume-data", at: "/resumeData",
            #"{"type":"download","resumeData":"="}"#),
        .task(
            "null for resume data", "invalid-value", at: "/request",
            #"{"type":"download","resumeData":null}"#),
        .task(
            "a number for resume data", "invalid-value", at: "/resumeData",
            #"{"type":"download","resumeData":1}"#),
    ]

    /// Limits, ranges and mirrors.
    static let limits: [BadInput] =
        ["0", "-1", "1.5", #""1""#, "1000000000001"].flatMap { value in
            [
                transfer(
                    "a task's limit of \(value)", at: "/maximumBytesPerSecond",
                    #""maximumBytesPerSecond":\#(value)"#),
                BadInput(
                    "a session's limit of \(value)", 422, "invalid-value",
                    at: "/maximumBytesPerSecond", "/v1/sessions",
                    body: #"{"maximumBytesPerSecond":\#(value)}"#),
                BadInput(
                    "another limit of a session, \(value)", 422, "invalid-value",
                    at: "/maximumBytesPerSecond", by: "PATCH", "/v1/sessions/shared",
                    body: #"{"maximumBytesPerSecond":\#(value)}"#),
                BadInput(
                    "the gateway's limit of \(value)", 422, "invalid-value",
                    at: "/maximumBytesPerSecond", by: "PATCH", "/v1/gateway",
                    body: #"{"maximumBytesPerSecond":\#(value)}"#),
            ]
        } + [
            BadInput(
                "another version", 422, "unknown-member", at: "/version", by: "PATCH",
                "/v1/gateway", body: #"{"version":"2"}"#),
            transfer("no connection", at: "/connections", type: "download", #""connections":0"#),
            transfer(
                "17 connections", at: "/connections", type: "download", method: "GET",
                #""connections":17"#),
            transfer(
                "ranges of a data task", at: "/connections", method: "GET", #""connections":2"#),
            transfer(
                "ranges by POST", at: "/connections", type: "download", method: "POST",
                #""connections":2"#),
            transfer("mirrors of a data task", at: "/mirrors", #""mirrors":["ORIGIN"]"#),
            transfer(
                "a mirror that is no URL", "invalid-url", at: "/mirrors/1", type: "download",
                method: "GET", #""mirrors":["ORIGIN","http://"]"#),
            transfer(
                "a mirror by FTP", "unsupported-url", at: "/mirrors/0", type: "download",
                method: "GET", #""mirrors":["ftp://127.0.0.1/"]"#),
            transfer(
                "17 mirrors", at: "/mirrors/16", type: "download", method: "GET",
                #""mirrors":[\#(Array(repeating: #""ORIGIN""#, count: 17).joined(separator: ","))]"#
            ),
        ]

    /// A policy of retries.
    static let retries: [BadInput] =
        [
            ("no attempts", "/retry/attempts", #"{}"#),
            ("no further attempt", "/retry/attempts", #"{"attempts":0}"#),
            ("101 attempts", "/retry/attempts", #"{"attempts":101}"#),
            ("a success to retry", "/retry/statuses/1", #"{"attempts":1,"statuses":[503,200]}"#),
            (
                "201 statuses", "/retry/statuses",
                #"{"attempts":1,"statuses":[\#(Array(repeating: "503", count: 201).joined(separator: ","))]}"#
            ),
            ("a delay backwards", "/retry/backoff/initial", retry(#""initial":-1"#)),
            ("a delay of a week", "/retry/backoff/maximum", retry(#""maximum":604800"#)),
            (
                "a longest delay below the first", "/retry/backoff/maximum",
                retry(#""initial":2,"maximum":1"#)
            ),
            ("delays that shrink", "/retry/backoff/multiplier", retry(#""multiplier":0.5"#)),
        ].map { name, pointer, policy in transfer(name, at: pointer, #""retry":\#(policy)"#) }
        + [
            transfer(
                "a policy of its own", "unknown-member", at: "/retry/until",
                #""retry":{"attempts":1,"until":0}"#)
        ]

    private static func retry(_ backoff: String) -> String {
        #"{"attempts":1,"backoff":{\#(backoff)}}"#
    }

    /// R-10: the form of a key.
    static let keys: [BadInput] =
        [
            ("an empty key", ""), ("an empty string as key", "\"\""),
            ("a key with a blank", "\"a b\""), ("two keys", "a, b"), ("half a string", "\"a"),
            ("a string with a parameter", "\"a\";b=1"), ("a bare quotation mark", "a\"b"),
            ("an unknown escape", "\"\\a\""), ("a key beyond ASCII", "schlüssel"),
            ("a key of 256 characters", String(repeating: "k", count: 256)),
        ].map { name, key in
            BadInput(
                name, 422, "invalid-value", "/v1/sessions",
                ["Content-Type": "application/json", "Idempotency-Key": key], body: "{}")
        }
        + [
            BadInput(
                "two fields", 422, "invalid-value", "/v1/sessions",
                [
                    "Content-Type": "application/json", "Idempotency-Key": "a",
                    "idempotency-key": "a",
                ], body: "{}"),
            BadInput(
                "a key for an answer that is not kept", 422, "invalid-value",
                "/v1/sessions/shared/tasks?answer=content",
                ["Content-Type": "application/json", "Idempotency-Key": "a"],
                body: #"{"type":"data","resume":true,"request":{"url":"ORIGIN"}}"#),
        ]
}
