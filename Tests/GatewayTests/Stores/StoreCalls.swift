import TestSupport

extension TestSession {
    /// The cookies of the jar; `query` with its `?`.
    func cookies(_ query: String = "") async throws -> [TestJSON] {
        try await client.get(path + "/cookies" + query).json(200, of: "GET cookies")["cookies"]
            .array ?? []
    }

    /// Puts a cookie into the jar, and gives it as the jar has it.
    @discardableResult
    func add(_ cookie: TestJSON) async throws -> TestJSON {
        try await client.post(path + "/cookies", cookie).json(201, of: "POST cookies")
    }

    /// Sends a file of cookies.
    func send(_ file: String) async throws -> TestResponse {
        try await client.send(
            "POST", path + "/cookies", ["Content-Type": "text/plain"], body: Array(file.utf8))
    }

    /// The credentials that are remembered; `query` with its `?`.
    func credentials(_ query: String = "") async throws -> [TestJSON] {
        try await client.get(path + "/credentials" + query)
            .json(200, of: "GET credentials")["credentials"].array ?? []
    }

    /// `PUT S/credentials`, however that ends.
    func put(_ credential: TestJSON) async throws -> TestResponse {
        try await client.send(
            "PUT", path + "/credentials", ["Content-Type": "application/json"],
            body: credential.text())
    }

    /// What the cache holds; `query` with its `?`.
    func cache(_ query: String = "") async throws -> TestJSON {
        try await client.get(path + "/cache" + query).json(200, of: "GET cache")
    }

    /// Does something to the session that answers nothing.
    func tell(_ method: String, _ what: String) async throws -> TestResponse {
        try await client.send(method, path + "/" + what)
    }
}

extension TestJSON {
    /// A cookie of this host, with further members.
    static func cookie(
        _ name: String, _ value: String = "1", domain: String = "127.0.0.1",
        with more: [String: TestJSON] = [:]
    ) -> TestJSON {
        let members: [String: TestJSON] = [
            "name": .string(name), "value": .string(value), "domain": .string(domain),
        ]
        return .object(members.merging(more) { $1 })
    }

    /// A password for a realm of an origin, with further members.
    static func stored(
        _ user: String, _ password: String, for origin: ScriptedOrigin, realm: String = "cave",
        _ more: [String: TestJSON] = [:]
    ) -> TestJSON {
        let members: [String: TestJSON] = [
            "protectionSpace": [
                "host": "127.0.0.1", "port": .int(Int(origin.port)), "protocol": "http",
                "realm": .string(realm),
                "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
            ],
            "user": .string(user), "password": .string(password),
        ]
        return .object(members.merging(more) { $1 })
    }

    /// The names of cookies, in their order.
    static func names(_ cookies: [TestJSON]) -> [String] {
        cookies.compactMap { $0["name"].string }
    }
}
