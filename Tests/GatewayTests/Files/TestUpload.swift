import TestSupport

/// A staged file at a gateway and what a client does with it.
struct TestUpload: Sendable {
    let client: TestClient
    let id: String

    var path: String { "/v1/files/\(id)" }

    /// How far the gateway says it is: `HEAD`.
    struct State: Equatable {
        let offset: Int
        let isComplete: Bool
    }

    func head() async throws -> TestResponse { try await client.send("HEAD", path) }

    func state() async throws -> State {
        let answer = try await head()
        guard answer.status == 204, let state = State(answer) else {
            throw UnexpectedAnswer(answer, to: "HEAD \(path)")
        }
        return state
    }

    /// Appends in one request.
    @discardableResult
    func append(
        _ bytes: [UInt8], at offset: Int, completes: Bool? = nil, _ headers: HeaderLines = [:]
    ) async throws -> TestResponse {
        try await client.send(
            "PATCH", path, Self.fields(offset, completes).appending(headers), body: bytes)
    }

    /// Begins to append `length` bytes, and sends none of them.
    func begin(
        at offset: Int, length: Int, completes: Bool? = nil, _ headers: HeaderLines = [:]
    ) async throws -> TestConnection {
        let connection = try await client.connect()
        try await connection.send(
            client.requestHead(
                "PATCH", path, Self.fields(offset, completes).appending(headers),
                bodyLength: length))
        return connection
    }

    /// The file as the list shows it, which ends no upload.
    func listed() async throws -> TestJSON {
        var cursor = ""
        while true {
            let page = try await client.get("/v1/files?limit=500\(cursor)").json(200, of: "list")
            if let file = page["files"].array?.first(where: { $0["id"].string == id }) {
                return file
            }
            guard let next = page["nextCursor"].string else { return .null }
            cursor = "&cursor=\(next)"
        }
    }

    /// The bytes of the complete file.
    func content(_ headers: HeaderLines = [:]) async throws -> TestResponse {
        try await client.get(path, headers, within: .seconds(60))
    }

    private static func fields(_ offset: Int, _ completes: Bool?) -> HeaderLines {
        var fields: HeaderLines = [
            "Upload-Offset": "\(offset)", "Content-Type": "application/partial-upload",
        ]
        if let completes { fields.append("Upload-Complete", completes ? "?1" : "?0") }
        return fields
    }
}

extension TestUpload.State {
    /// What the fields of an answer say; nil where they are not there.
    init?(_ answer: TestResponse) {
        guard let offset = answer.headers["Upload-Offset"].flatMap({ Int($0) }),
            let complete = answer.headers["Upload-Complete"]
        else { return nil }
        self.init(offset: offset, isComplete: complete == "?1")
    }
}

extension TestClient {
    /// `POST /v1/files`.
    func postFile(_ body: [UInt8]? = nil, _ headers: HeaderLines = [:]) async throws -> TestResponse
    {
        try await send("POST", "/v1/files", headers, body: body, within: .seconds(60))
    }

    /// Opens an upload.
    func openUpload(_ headers: HeaderLines = [:]) async throws -> TestUpload {
        let json = try await postFile(nil, headers).json(201, of: "POST /v1/files")
        return TestUpload(client: self, id: json["id"].string ?? "")
    }

    /// Stages a whole file.
    func stage(_ bytes: [UInt8], _ headers: HeaderLines = [:]) async throws -> TestUpload {
        let json = try await postFile(bytes, headers).json(201, of: "POST /v1/files")
        return TestUpload(client: self, id: json["id"].string ?? "")
    }
}
