import TestSupport
import Testing

/// Coded contents are whole or an error (S-76, R-3), and what is no whole one is never seen again.
@Suite(.sharedGateway)
struct CodedContentTests {
    private let origin: ScriptedOrigin
    private let client: TestClient
    private let text = Array(String(repeating: "Ferry ", count: 30_000).utf8)

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
    }

    private func serve(_ bytes: [UInt8], _ coding: String, status: Int = 200) {
        let headers: HeaderLines = [
            "Content-Encoding": coding, "Cache-Control": "max-age=600", "ETag": "\"1\"",
        ]
        origin.on("/coded") { try $0.answer(status, headers, bytes) }
    }

    /// A data task to what is served, and whether the next one was answered from the cache.
    private func run(
        in session: TestSession? = nil
    ) async throws -> (task: TestJSON, isStored: Bool) {
        let session = if let session { session } else { try await client.createSession() }
        let before = origin.requests.count
        let tasks = [
            try await session.run("data", origin.url("/coded")),
            try await session.run("data", origin.url("/coded")),
        ]
        #expect(tasks[0].errorCode == tasks[1].errorCode)
        return (tasks[0], origin.requests.count == before + 1)
    }

    @Test(arguments: UncompressedCoding.allCases, [1, 2])
    func `a coded content that breaks off is -1015, and is not stored`(
        coding: UncompressedCoding, divisor: Int
    ) async throws {
        let coded = coding.encode(text)
        serve(Array(coded.prefix((coded.count - 1) / divisor)), coding.rawValue)
        let session = try await client.createSession()
        let (task, isStored) = try await run(in: session)
        #expect(task.errorCode == -1015 && !isStored)
        #expect(task["error"]["name"].string == "cannotDecodeRawData")
        #expect(
            task["error"]["message"].string
                == "The \(coding.rawValue) content breaks off before its end.")
        // What was decoded is a part, and says so (S-58).
        #expect(task["content"]["complete"].bool != true)
        #expect(task["response"]["status"].int == 200)
        #expect(try await session.cache()["entryCount"].int == 0)
        // Nor does a part of it come from somewhere when the whole is there.
        serve(coded, coding.rawValue)
        let whole = try await run(in: session)
        #expect(whole.task["error"].isNull && whole.isStored)
        #expect(try await client.content(whole.task.id) == text)
    }

    @Test(arguments: UncompressedCoding.allCases)
    func `a coded content that is whole is stored decoded, and counted so (S-42, S-76)`(
        coding: UncompressedCoding
    ) async throws {
        serve(coding.encode(text), coding.rawValue)
        let (task, isStored) = try await run()
        #expect(task["error"].isNull && isStored)
        #expect(task["content"]["lengthVerified"].bool == true)
        #expect(task["countOfBytesReceived"].int == text.count)
        #expect(try await client.content(task.id) == text)
    }

    @Test func `members of gzip are one content, and rubbish behind them is -1015`() async throws {
        let members = UncompressedCoding.gzip.encode(text) + UncompressedCoding.gzip.encode(text)
        serve(members, "gzip")
        let (task, isStored) = try await run()
        #expect(task["error"].isNull && isStored)
        #expect(try await client.content(task.id) == text + text)
        for coding in UncompressedCoding.allCases {
            serve(coding.encode(text) + Array("extra".utf8), coding.rawValue)
            let (task, isStored) = try await run()
            #expect(task.errorCode == -1015 && !isStored, "\(coding)")
            #expect(task["error"]["message"].string?.contains("behind the end") == true)
        }
    }

    @Test(arguments: ["utf-8", "aws-chunked", "compress", "x", "gzip, x", "br,br,br,br,br,br"])
    func `an unknown coding leaves the content as it is, and that is stored (S-76)`(
        coding: String
    ) async throws {
        serve(Array("hello".utf8), coding)
        let (task, isStored) = try await run()
        #expect(task["error"].isNull && isStored)
        #expect(task["response"]["expectedContentLength"].int == 5)
        #expect(task["content"]["lengthVerified"].bool == true)
        #expect(try await client.content(task.id) == Array("hello".utf8))
    }

    @Test func `a part of a coded content is left as it is`() async throws {
        let coded = UncompressedCoding.gzip.encode(text)
        origin.on("/part") { exchange in
            let part: HeaderLines = [
                "Content-Encoding": "gzip", "Content-Range": "bytes 0-99/\(coded.count)",
            ]
            try exchange.answer(206, part, Array(coded.prefix(100)))
        }
        let session = try await client.createSession()
        let task = try await session.run(
            "data", origin.url("/part"), request: ["headers": ["Range": "bytes=0-99"]])
        #expect(task["error"].isNull && task["response"]["expectedContentLength"].int == 100)
        #expect(try await client.content(task.id) == Array(coded.prefix(100)))
    }

    @Test(arguments: [true, false])
    func `a streamed content ends where it breaks off, with -1015 (S-41)`(
        isWhole: Bool
    ) async throws {
        // More than waits for a reader: the end does not come before one.
        let text = Array(String(repeating: "Ferry ", count: 300_000).utf8)
        let coded = UncompressedCoding.gzip.encode(text)
        serve(isWhole ? coded : Array(coded.dropLast(3)), "gzip")
        let session = try await client.createSession()
        let id = try await session.start("data", origin.url("/coded"), ["delivery": "stream"])
        let reader = try await client.stream("/v1/tasks/\(id)/content")
        if isWhole {
            #expect(try await reader.rest() == text)
        } else {
            await #expect(throws: (any Error).self) { try await reader.rest() }
        }
        #expect(try await client.completedTask(id).errorCode == (isWhole ? nil : -1015))
    }

    @Test(arguments: [true, false])
    func `a download that a data task becomes goes on decoded, to the end or -1015 (S-70)`(
        isWhole: Bool
    ) async throws {
        let coded = UncompressedCoding.br.encode(text)
        serve(isWhole ? coded : Array(coded.dropLast()), "br")
        let (session, events) = try await client.createAskingSession("response")
        let id = try await session.start("data", origin.url("/coded"))
        try await client.decide(try await events.question(), .disposition("becomeDownload"))
        let heir = try #require(try await client.completedTask(id)["becameTask"].string)
        let download = try await client.completedTask(heir)
        #expect(download.errorCode == (isWhole ? nil : -1015))
        guard isWhole else { return }
        #expect(try await client.content(heir) == text)
    }
}
