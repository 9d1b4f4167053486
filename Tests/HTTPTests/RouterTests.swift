import HTTP
import Loop
import TestSupport
import Testing

/// Which route answers, and what a handler learns of its request.
@Suite struct RouterTests {
    private static func route(_ method: String, _ pattern: String) -> Route {
        Route(method, pattern) { request in
            let names = ["task", "session", "other"]
            let values = names.compactMap { name in
                request.parameters[name].map { "\(name)=\($0)" }
            }
            return .text(([method, pattern] + values).joined(separator: " "))
        }
    }

    private static let routes = [
        route("GET", "/"),
        route("GET", "/v1/tasks"),
        route("POST", "/v1/tasks"),
        route("GET", "/v1/tasks/{task}"),
        route("DELETE", "/v1/tasks/{task}"),
        route("GET", "/v1/tasks/{task}/content"),
        route("GET", "/v1/tasks/newest"),
        route("GET", "/v1/sessions/{session}/tasks/{task}"),
        route("POST", "/v1/{other}/newest"),
    ]

    @Test(arguments: [
        ("GET", "/", 200, "GET /"),
        ("GET", "/v1/tasks", 200, "GET /v1/tasks"),
        ("POST", "/v1/tasks", 200, "POST /v1/tasks"),
        ("GET", "/v1/tasks?a=b", 200, "GET /v1/tasks"),
        ("GET", "/v1/tasks/tsk_1", 200, "GET /v1/tasks/{task} task=tsk_1"),
        ("DELETE", "/v1/tasks/tsk_1", 200, "DELETE /v1/tasks/{task} task=tsk_1"),
        ("GET", "/v1/tasks/tsk_1/content", 200, "GET /v1/tasks/{task}/content task=tsk_1"),
        ("GET", "/v1/tasks/newest", 200, "GET /v1/tasks/newest"),
        ("DELETE", "/v1/tasks/newest", 405, "method-not-allowed"),
        ("GET", "/v1/tasks/newest/content", 200, "GET /v1/tasks/{task}/content task=newest"),
        ("POST", "/v1/files/newest", 200, "POST /v1/{other}/newest other=files"),
        (
            "GET", "/v1/sessions/s/tasks/t", 200,
            "GET /v1/sessions/{session}/tasks/{task} task=t session=s"
        ),
        ("GET", "/v1/tasks/a%2Fb%20%C3%A4+", 200, "GET /v1/tasks/{task} task=a/b ä+"),
        ("GET", "/%76%31/tasks", 200, "GET /v1/tasks"),
        ("GET", "/v1%2Ftasks", 404, "not-found"),
        ("GET", "/v1/tasks/", 404, "not-found"),
        ("GET", "//v1/tasks", 404, "not-found"),
        ("GET", "/v1//tasks", 404, "not-found"),
        ("GET", "/V1/tasks", 404, "not-found"),
        ("GET", "/v1/tasks/a/b", 404, "not-found"),
        ("GET", "/v1/sessions/s/../tasks", 404, "not-found"),
        ("PUT", "/v1/tasks", 405, "method-not-allowed"),
        ("TRACE", "/", 405, "method-not-allowed"),
        ("QUERY", "/", 405, "method-not-allowed"),
        ("QUERY", "/nowhere", 404, "not-found"),
        ("get", "/", 501, "not-implemented"),
        ("BREW", "/", 501, "not-implemented"),
        ("BREW", "/nowhere", 501, "not-implemented"),
    ])
    func `A request finds its route`(
        method: String, target: String, status: Int, text: String
    ) async throws {
        try await LiveServer.run(Self.routes) { live in
            let response = try await live.client.send(method, target)
            #expect(response.status == status)
            #expect(response.text == text)
        }
    }

    @Test(arguments: [
        ("PUT", "/v1/tasks", 405, "GET, HEAD, OPTIONS, POST"),
        ("PUT", "/v1/tasks/tsk_1", 405, "DELETE, GET, HEAD, OPTIONS"),
        ("DELETE", "/v1/tasks/newest", 405, "GET, HEAD, OPTIONS"),
        ("OPTIONS", "/v1/tasks", 204, "GET, HEAD, OPTIONS, POST"),
        ("OPTIONS", "*", 204, "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE"),
    ])
    func `Allow names the methods of the path`(
        method: String, target: String, status: Int, allow: String
    ) async throws {
        try await LiveServer.run(Self.routes) { live in
            let response = try await live.client.send(method, target)
            #expect(response.status == status)
            #expect(response.headers["Allow"] == allow)
        }
    }

    @Test func `A route that another one hides is refused`() throws {
        #expect(throws: Router.Failure.ambiguous("/a/{x}", "/a/{y}")) {
            try Router([Self.route("GET", "/a/{x}"), Self.route("GET", "/a/{y}")])
        }
        #expect(throws: Router.Failure.malformed("GET a")) {
            try Router([Self.route("GET", "a")])
        }
        #expect(throws: Router.Failure.malformed("get /a")) {
            try Router([Self.route("get", "/a")])
        }
        #expect(throws: Router.Failure.malformed("GET /{x}/{x}")) {
            try Router([Self.route("GET", "/{x}/{x}")])
        }
    }

    @Test func `A handler learns everything of its request`() async throws {
        let route = Route("GET", "/{name}") { request in
            let names = request.headers.map { "\($0.name)=\($0.value)" }
            let bytes = request.withHeaderBytes("x-one") { $0.map(Array.init) }
            return .text(
                [
                    request.method, request.path, request.rawQuery ?? "-",
                    request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ","),
                    request.queryValue("b") ?? "-", request.queryValue("c") ?? "-",
                    request.header("x-one") ?? "-", request.headers[first: "X-TWO"] ?? "-",
                    request.headers.values(of: "x-one").joined(separator: ","),
                    bytes.map { String(decoding: $0, as: UTF8.self) } ?? "-",
                    request.host ?? "-", names.joined(separator: ","), request.peer.address,
                ].joined(separator: " "))
        }
        try await LiveServer.run([route]) { live in
            let connection = try await live.client.connect()
            try await connection.send(
                "GET /a%20b?a=1&b=x+y%26&a=2&=e&n HTTP/1.1\r\nHost: h:80\r\n"
                    + "X-One: 1\r\nx-two:  2 \r\nX-ONE: 3\r\n\r\n")
            let text = try await connection.response().text
            #expect(
                text == "GET /a%20b a=1&b=x+y%26&a=2&=e&n a=1,b=x y&,a=2,=e,n= x y& - 1 2 1,3 1 "
                    + "h:80 Host=h:80,X-One=1,x-two=2,X-ONE=3 127.0.0.1")
        }
    }

    @Test func `What belongs to a connection lasts over its requests`() async throws {
        final class Visits { var count = 0 }
        let route = Route("GET", "/") { request in
            let visits = request.connection.attachment as? Visits ?? Visits()
            request.connection.attachment = visits
            visits.count += 1
            return .text("\(visits.count)")
        }
        try await LiveServer.run([route]) { live in
            for _ in 0..<2 {
                let connection = try await live.client.connect()
                try await connection.send(
                    String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: 2))
                #expect(try await connection.response().text == "1")
                #expect(try await connection.response().text == "2")
            }
        }
    }

    @Test func `A request that its handler keeps is not overwritten by the next one`() async throws
    {
        let route = Route("GET", "/{name}") { request in
            if let kept = request.connection.attachment as? Kept {
                return .text("\(kept.request.path) \(request.path)")
            }
            request.connection.attachment = Kept(request)
            return .text("kept")
        }
        try await LiveServer.run([route]) { live in
            let connection = try await live.client.connect()
            try await connection.send(
                ["/first", "/second", "/third"].map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }
                    .joined())
            #expect(try await connection.response().text == "kept")
            #expect(try await connection.response().text == "/first /second")
            #expect(try await connection.response().text == "/first /third")
        }
    }

    @LoopActor
    private final class Kept {
        let request: Request
        init(_ request: Request) { self.request = request }
    }

    @Test func `Header fields keep their order and ignore case`() {
        var fields: HeaderFields = ["A": "1", "b": "2", "a": "3"]
        #expect(fields[first: "a"] == "1")
        #expect(fields.values(of: "A") == ["1", "3"])
        fields.set("a", "4")
        fields.add("C", "5")
        #expect(fields.map { "\($0.name)\($0.value)" } == ["A4", "b2", "C5"])
        fields.remove("B")
        #expect(fields.map(\.name) == ["A", "C"])
        #expect(HeaderFields().isEmpty)
    }
}
