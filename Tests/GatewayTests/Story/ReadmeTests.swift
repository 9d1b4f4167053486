import Foundation
import TestSupport
import Testing

/// README's examples, run by a shell as a reader would run them.
@Suite(.sharedGateway)
struct ReadmeTests {
    @Test func `the example of every kind of task does what README says`() async throws {
        let gateway = try RunningGateway.shared
        let origin = try ScriptedOrigin()
        var file = Resource(3_000_000)
        file.headers = ["Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"]
        origin.on("/big.iso", .resource(file))
        for path in ["/note", "/put/hello", "/put/stream"] { origin.on(path, .echo) }
        origin.on("/vault", Self.vault)
        origin.on("/news", .fixed(200, ["Cache-Control": "max-age=600"], "nothing new"))
        let readme = String(decoding: try Contract.bytes(of: "README.md"), as: UTF8.self)
        let first = try #require(Self.blocks(readme).first { $0.contains("call() {") })
        let definitions = first.split(separator: "\n\n")[0]
        let start = try #require(readme.range(of: "### Upload\n"))
        let end = try #require(readme.range(of: "### Follow them\n"))
        let examples = Self.blocks(String(readme[start.lowerBound..<end.lowerBound]))
        #expect(examples.count >= 11)
        let script = ([String(definitions)] + examples).joined(separator: "\necho; echo ---\n")
            .replacing("ferry-data/token", with: gateway.dataDirectory + "/token")
            .replacing("http://127.0.0.1:8080", with: gateway.url)
            .replacing("https://host/", with: origin.url("/"))
            .replacing("https://mirror/", with: origin.url("/"))
        let folder = try TemporaryDirectory()
        let shell = try ChildProcess(
            "/bin/bash", ["-e", "-o", "pipefail", "-c", "cd \(folder.path)\n" + script],
            environment: ProcessInfo.processInfo.environment)
        #expect(
            try await shell.waitForExit(within: .seconds(60)) == .status(0), "\(shell.errorText)")
        #expect(!shell.outputText.contains("/problems/"), "\(shell.outputText)")

        let bodies = { (path: String) in origin.requests(for: path).map(\.body) }
        #expect(bodies("/note") == [Array(#"{"hello":"world"}"#.utf8)])
        #expect(bodies("/put/hello") == [Array("hello world".utf8)])
        let numbers = (1...1_000_000).map { "\($0)\n" }.joined()
        let client = gateway.client
        let stream = try #require(origin.requests(for: "/put/stream").first)
        #expect(stream.bodyIsComplete && stream.bodyLength == numbers.utf8.count)
        #expect(numbers.utf8.starts(with: stream.body))
        #expect(shell.outputText.contains("the gold is here"))
        #expect(origin.requests(for: "/vault").count == 2)
        // What was exported has been imported, and was sent to nobody else.
        #expect(shell.outputText.contains(#"{"stored":1,"faultCount":0,"faults":[]}"#))
        #expect(origin.requests.allSatisfy { $0.headers["Cookie"] == nil })
        #expect(shell.outputText.contains(#""user":"alice","persistence":"permanent""#))
        #expect(origin.requests(for: "/news").count == 1)
        #expect(shell.outputText.contains(#""responses":[{"url":"\#(origin.url("/news"))""#))
        let ranges = origin.requests(for: "/big.iso").compactMap { $0.headers["Range"] }
        #expect(ranges.contains { $0.hasSuffix("-") }, "a download that went on: \(ranges)")
        let tasks = try await client.get("/v1/tasks?state=completed&limit=100").json
        for task in tasks["tasks"].array ?? [] where task["type"].string == "download" {
            guard task["error"].isNull else {
                #expect(task.errorCode == -999)
                continue
            }
            let content = try await client.content(task.id)
            #expect(content.count == 3_000_000 && Pattern.firstDifference(in: content) == nil)
        }
    }

    /// Opens to alice alone.
    private static let vault = Behaviour { exchange in
        let password = Data("alice:open sesame".utf8).base64EncodedString()
        if exchange.request.headers["Authorization"] == "Basic \(password)" {
            try exchange.answer(200, [:], "the gold is here")
        } else {
            try exchange.answer(401, ["WWW-Authenticate": "Basic realm=\"vault\""], "who is it?")
        }
    }

    private static func blocks(_ text: String) -> [String] {
        text.components(separatedBy: "```sh\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
    }
}
