import Foundation
import TestSupport
import Testing

/// The examples of the documents, run by a shell, Python and node as a reader would run them.
@Suite(.sharedGateway)
struct DocumentTests {
    private let gateway: RunningGateway
    private let origin: ScriptedOrigin
    private let folder: TemporaryDirectory

    init() throws {
        gateway = try .shared
        origin = try ScriptedOrigin()
        folder = try TemporaryDirectory()
        var file = Resource(3_000_000)
        file.headers = ["Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"]
        origin.on("/big.iso", .resource(file))
        for path in ["/note", "/put/hello", "/put/stream"] { origin.on(path, .echo) }
        for page in 0..<20 { origin.on("/note?page=\(page)", .fixed(200, [:], "page \(page)")) }
        origin.on("/rfc9112.txt", .fixed(200, [:], "HTTP/1.1"))
        origin.on("/rfc9110.txt", .resource(file))
        origin.on("/vault", Self.vault(password: "open sesame"))
        origin.on("/basic-auth/alice/sesame", Self.vault(password: "sesame"))
        origin.on("/news", .fixed(200, ["Cache-Control": "max-age=600"], "nothing new"))
    }

    @Test func `the guide's examples of every kind of task do what it says`() async throws {
        let examples = try blocks(of: "docs/guide.md", in: "sh")
        #expect(examples.count >= 15)
        let output = try await run("/bin/bash", examples.joined(separator: "\necho; echo ---\n"))
        #expect(!output.contains("/problems/"), "\(output)")

        let bodies = { (path: String) in origin.requests(for: path).map(\.body) }
        #expect(bodies("/note").contains(Array(#"{"hello": "world"}"#.utf8)))
        #expect(bodies("/put/hello") == [Array("hello world".utf8)])
        let numbers = (1...1_000_000).map { "\($0)\n" }.joined()
        let client = gateway.client
        let stream = try #require(origin.requests(for: "/put/stream").first)
        #expect(stream.bodyIsComplete && stream.bodyLength == numbers.utf8.count)
        #expect(numbers.utf8.starts(with: stream.body))
        #expect(output.contains("the gold is here"))
        #expect(origin.requests(for: "/vault").count == 2)
        // What was exported has been imported, and was sent to nobody else.
        #expect(output.contains(#"{"stored":1,"faultCount":0,"faults":[]}"#))
        #expect(origin.requests.allSatisfy { $0.headers["Cookie"] == nil })
        #expect(output.contains(#""user":"alice","persistence":"permanent""#))
        #expect(origin.requests(for: "/news").count == 1)
        #expect(output.contains(#""responses":[{"url":"\#(origin.url("/news"))""#))
        let ranges = origin.requests(for: "/big.iso").compactMap { $0.headers["Range"] }
        #expect(ranges.contains { $0.hasSuffix("-") }, "a download that went on: \(ranges)")
        let tasks = try await client.get("/v1/tasks?state=completed&limit=100").json
        let big = origin.url("/big.iso")
        for task in tasks["tasks"].array ?? []
        where task["type"].string == "download" && task["originalRequest"]["url"].string == big {
            guard task["error"].isNull else {
                #expect(task.errorCode == -999)
                continue
            }
            let content = try await client.content(task.id)
            #expect(content.count == 3_000_000 && Pattern.firstDifference(in: content) == nil)
        }
    }

    @Test func `the tutorial leads to where it says`() async throws {
        let steps = try blocks(of: "docs/tutorial.md", in: "sh")
        let output = try await run("/bin/bash", steps.joined(separator: "\n"))
        for event in ["task.didCreate", "task.didReceiveResponse", "task.didComplete"] {
            #expect(output.contains("event: \(event)\n"))
        }
        let words = "\nsuspended\ncompleted\nthe gold is here"
        let end = output.suffix(words.count)
        #expect(end == words)
        let bytes = try folder.read("rfc9110.txt")
        #expect(bytes.count == 3_000_000 && Pattern.firstDifference(in: bytes) == nil)
    }

    @Test(arguments: [
        ("bash", 0, "note 200"), ("bash", 1, "200"), ("python", 0, "done"), ("js", 0, "20 answers"),
    ])
    func `the cookbook's programs work`(
        language: String, number: Int, lastWords: String
    ) async throws {
        let program = try blocks(of: "docs/cookbook.md", in: language)[number]
        let interpreter =
            switch language {
            case "python": "python3 -c"
            case "js": "node --input-type=module --eval"
            default: "bash -e -o pipefail -c"
            }
        let output = try await run(
            "/usr/bin/env", program, before: interpreter.split(separator: " ").map(String.init))
        #expect(output.contains(lastWords), "\(output)")
        if language == "bash", number == 0 {
            #expect(output.contains("https://missing.invalid/file cannotFindHost"), "\(output)")
        }
        if language == "bash", number == 1 {
            #expect(origin.requests(for: "/put/hello").last?.bodyLength == 3_000_000)
        }
    }

    /// Runs an example where the gateway and the servers of the documents are those of the test.
    /// - Returns: what it prints; a status other than 0 is an issue.
    private func run(
        _ program: String, _ text: String, before: [String] = ["-e", "-o", "pipefail", "-c"]
    ) async throws -> String {
        let here =
            text
            .replacing("ferry-data/token", with: gateway.dataDirectory + "/token")
            .replacing("http://127.0.0.1:8080", with: gateway.url)
            .replacing("https://host/", with: origin.url("/"))
            .replacing("https://mirror/", with: origin.url("/"))
            .replacing("https://www.rfc-editor.org/rfc/", with: origin.url("/"))
            .replacing("https://httpbin.org/", with: origin.url("/"))
        var environment = ProcessInfo.processInfo.environment
        environment["FERRY_URL"] = gateway.url
        environment["FERRY_TOKEN"] = gateway.token
        let child = try ChildProcess(
            "/usr/bin/env", ["--chdir", folder.path, program] + before + [here],
            environment: environment)
        let status = try await child.waitForEnd()
        #expect(status == .status(0), "\(child.outputText)\n\(child.errorText)")
        return child.outputText
    }

    /// Opens to alice alone.
    private static func vault(password: String) -> Behaviour {
        let basic = "Basic " + Data("alice:\(password)".utf8).base64EncodedString()
        return Behaviour { exchange in
            if exchange.request.headers["Authorization"] == basic {
                try exchange.answer(200, [:], "the gold is here")
            } else {
                let realm: HeaderLines = ["WWW-Authenticate": "Basic realm=\"vault\""]
                try exchange.answer(401, realm, "who is it?")
            }
        }
    }

    /// The examples of a page that are written in a language.
    private func blocks(of page: String, in language: String) throws -> [String] {
        String(decoding: try Contract.bytes(of: page), as: UTF8.self)
            .components(separatedBy: "```\(language)\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
    }
}
