import Foundation
import TestSupport
import Testing

/// Staged files over the wire: what each request is answered with (api: Staged files).
@Suite(.sharedGateway)
struct FileRouteTests {
    private let client: TestClient
    private let bytes = Pattern.bytes(count: 300_001)

    init() throws { client = try RunningGateway.shared.client }

    // MARK: Creation

    @Test func `a file is staged in one request, read, listed and forgotten`() async throws {
        let answer = try await client.postFile(bytes, ["Content-Type": "image/png"])
        #expect(answer.status == 201)
        let file = answer.json
        let upload = TestUpload(client: client, id: file["id"].string ?? "")
        #expect(upload.id.hasPrefix("fil_"))
        #expect(answer.headers["Location"] == upload.path)
        #expect(TestUpload.State(answer) == .init(offset: bytes.count, isComplete: true))
        #expect(file["length"].int == bytes.count && file["complete"].bool == true)
        #expect(file["expectedLength"].int == bytes.count)
        #expect(file["mediaType"].string == "image/png" && file["digest"].isNull)
        #expect(file["links"]["self"].string == upload.path)
        #expect(try await upload.listed() == file)

        let content = try await upload.content()
        #expect(content.status == 200 && content.body == bytes)
        #expect(content.headers["Content-Type"] == "image/png")
        // a stranger's bytes are never a page of ours.
        #expect(content.headers["Content-Disposition"] == "attachment; filename=\"\(upload.id)\"")
        #expect(content.headers["X-Content-Type-Options"] == "nosniff")
        #expect(content.headers["Content-Security-Policy"]?.contains("sandbox") == true)

        #expect(try await client.delete(upload.path).status == 204)
        #expect(try await client.delete(upload.path).problem == "not-found")
        #expect(try await upload.content().problem == "not-found")
        #expect(try await upload.head().status == 404)
        #expect(try await upload.append([1], at: 0).problem == "not-found")
        #expect(try await upload.listed() == .null)
    }

    @Test func `a body in chunks is a file, an empty one too`() async throws {
        for pieces in [[bytes], [Array(bytes[..<10]), Array(bytes[10...])], []] {
            let connection = try await client.connect()
            try await connection.send(
                client.requestHead("POST", "/v1/files", ["Transfer-Encoding": "chunked"]))
            for piece in pieces {
                try await connection.send(
                    Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [13, 10])
            }
            try await connection.send("0\r\n\r\n")
            let answer = try await connection.response(to: "POST")
            #expect(answer.status == 201 && answer.json["complete"].bool == true)
            #expect(answer.json["expectedLength"] == answer.json["length"])
            let id = answer.json["id"].string ?? ""
            let content = try await TestUpload(client: client, id: id).content()
            #expect(content.body == pieces.flatMap { $0 })
        }
    }

    @Test func `without a body an upload is opened, or the file is empty`() async throws {
        let opened = try await client.postFile(nil, ["Upload-Length": "12", "Content-Type": "a/b"])
        #expect(opened.status == 201)
        #expect(opened.json["complete"].bool == false && opened.json["length"].int == 0)
        #expect(opened.json["expectedLength"].int == 12 && opened.json["mediaType"].string == "a/b")
        let unknown = try await client.postFile([], ["Upload-Complete": "?0"])
        #expect(unknown.json["complete"].bool == false)
        #expect(unknown.json["expectedLength"].int == -1 && unknown.json["mediaType"].isNull)
        let empty = try await client.postFile(nil, ["Upload-Complete": "?1"])
        #expect(empty.status == 201 && empty.json["complete"].bool == true)
        let upload = TestUpload(client: client, id: empty.json["id"].string ?? "")
        let content = try await upload.content()
        #expect(content.status == 200 && content.body.isEmpty)
    }

    @Test func `a client that waits to be asked for the bytes is asked`() async throws {
        let connection = try await client.connect()
        try await connection.send(
            client.requestHead("POST", "/v1/files", ["Expect": "100-continue"], bodyLength: 3))
        let start = try await connection.bytes(25)
        #expect(String(decoding: start, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
        try await connection.send([1, 2, 3])
        #expect(try await connection.response(to: "POST").json["length"].int == 3)
    }

    // MARK: Appending

    @Test func `an upload grows by its requests, and its end completes it`() async throws {
        let first = Array(bytes[..<1000])
        let begun = try await client.postFile(
            first, ["Upload-Complete": "?0", "Content-Type": "text/plain"])
        #expect(begun.status == 201 && begun.json["complete"].bool == false)
        let upload = TestUpload(client: client, id: begun.json["id"].string ?? "")
        #expect(try await upload.content().problem == "not-complete")
        let second = try await upload.append(Array(bytes[1000..<5000]), at: 1000)
        #expect(second.status == 204 && second.body.isEmpty)
        #expect(TestUpload.State(second) == .init(offset: 5000, isComplete: false))
        let head = try await upload.head()
        #expect(head.status == 204 && head.headers["Cache-Control"] == "no-store")
        #expect(TestUpload.State(head) == .init(offset: 5000, isComplete: false))
        #expect(head.headers["Upload-Length"] == nil)
        let last = try await upload.append(Array(bytes[5000...]), at: 5000, completes: true)
        #expect(TestUpload.State(last) == .init(offset: bytes.count, isComplete: true))
        #expect(try await upload.head().headers["Upload-Length"] == "\(bytes.count)")
        #expect(try await upload.content().body == bytes)
        // Nothing follows, not even nothing.
        for more in [[], [1]] as [[UInt8]] {
            let answer = try await upload.append(more, at: bytes.count, completes: true)
            #expect(answer.status == 409 && answer.problem == "upload-completed")
            #expect(TestUpload.State(answer) == .init(offset: bytes.count, isComplete: true))
        }
    }

    @Test func `at a wrong offset the right one is told`() async throws {
        let upload = try await client.openUpload()
        try await upload.append([1, 2, 3], at: 0)
        for offset in [0, 2, 4, 999_999_999_999_999] {
            let answer = try await upload.append([9], at: offset, completes: true)
            #expect(answer.status == 409 && answer.problem == "wrong-offset")
            #expect(answer.json["expected-offset"].int == 3)
            #expect(answer.json["provided-offset"].int == offset)
            #expect(TestUpload.State(answer) == .init(offset: 3, isComplete: false))
        }
        try await upload.append([4], at: 3, completes: true)
        #expect(try await upload.content().body == [1, 2, 3, 4])
    }

    @Test(arguments: [
        "", "-1", "1.5", "x", "?1", "1000000000000000", "0, 0", "\"0\"", "0 0", "0;", "0; =1",
        "0;a=",
    ])
    func `an offset that is none is refused`(value: String) async throws {
        let upload = try await client.openUpload()
        let answer = try await client.send(
            "PATCH", upload.path, ["Upload-Offset": value, "Upload-Complete": "?1"], body: [1])
        #expect(answer.status == 422 && answer.problem == "invalid-value")
        #expect(answer.json["detail"].string?.contains("Upload-Offset") == true)
        #expect(try await upload.state() == .init(offset: 0, isComplete: false))
    }

    @Test func `fields that are malformed, or given twice, count as not there`() async throws {
        for value in ["1", "true", "?2", "?", "?1 ?1", "?1;", "?1; Q"] {
            let upload = try await client.openUpload(["Upload-Length": "3.0"])
            let answer = try await upload.append([1], at: 0, ["Upload-Complete": value])
            #expect(TestUpload.State(answer) == .init(offset: 1, isComplete: false), "\(value)")
        }
        let upload = try await client.openUpload()
        var twice: HeaderLines = ["Upload-Complete": "?1"]
        twice.append("Upload-Complete", "?1")
        #expect(TestUpload.State(try await upload.append([1], at: 0, twice))?.isComplete == false)
        // Parameters are allowed by the syntax, and mean nothing.
        let answer = try await upload.append([2], at: 1, ["Upload-Complete": "?1; q=1"])
        #expect(TestUpload.State(answer)?.isComplete == true)
    }

    // MARK: Lengths and digests

    @Test func `another length than announced is refused, and the upload stays as it was`()
        async throws
    {
        let upload = try await client.openUpload(["Upload-Length": "10"])
        #expect(try await upload.head().headers["Upload-Length"] == "10")
        let ten = Array(bytes[..<10])
        let refused = [
            try await upload.append(ten + [1], at: 0),
            try await upload.append([1], at: 0, completes: true),
            try await upload.append(ten, at: 0, ["Upload-Length": "11"]),
        ]
        for answer in refused {
            #expect(answer.status == 422 && answer.problem == "inconsistent-length")
            #expect(TestUpload.State(answer) == .init(offset: 0, isComplete: false))
        }
        try await upload.append(ten, at: 0)
        #expect(try await upload.append([1], at: 10).problem == "inconsistent-length")
        #expect(try await upload.append([], at: 10, completes: true).status == 204)
        #expect(try await upload.content().body == ten)
        let contradiction = try await client.postFile(ten, ["Upload-Length": "9"])
        #expect(contradiction.status == 422 && contradiction.problem == "inconsistent-length")
    }

    @Test(arguments: [ReferenceDigest.Algorithm.sha256, .sha512])
    func `a digest is checked at the end (R-3)`(algorithm: ReferenceDigest.Algorithm) async throws {
        let digest = try await ReferenceDigest.of(bytes, algorithm)
        let upload = try await client.stage(bytes, ["Repr-Digest": digest])
        let content = try await upload.content()
        #expect(content.body == bytes && content.headers["Repr-Digest"] == digest)
        #expect(try await upload.listed()["digest"].string == digest)

        var damaged = bytes
        damaged[150_000] ^= 1
        let refused = try await client.postFile(damaged, ["Repr-Digest": digest])
        #expect(refused.status == 422 && refused.problem == "digest-mismatch")
        #expect(refused.headers["Location"] == nil)

        // Of several requests, told with the first or the last.
        let opened = try await client.openUpload(["Repr-Digest": digest])
        try await opened.append(Array(damaged[..<200_000]), at: 0)
        let answer = try await opened.append(
            Array(damaged[200_000...]), at: 200_000, completes: true)
        #expect(answer.status == 422 && answer.problem == "digest-mismatch")
        #expect(TestUpload.State(answer) == nil)
        #expect(try await opened.head().status == 404)
        let late = try await client.openUpload()
        try await late.append(Array(bytes[..<200_000]), at: 0)
        let end = Array(bytes[200_000...])
        let last = try await late.append(
            end, at: 200_000, completes: true, ["Repr-Digest": "md5=:AA==:, \(digest)"])
        #expect(last.status == 204)
        #expect(try await late.content().body == bytes)
    }

    @Test(arguments: ["", "sha-256", "sha-256=:AA==:", "md5=:AA==:", "sha-256=:%%:"])
    func `a digest that cannot be checked is refused`(value: String) async throws {
        let upload = try await client.openUpload()
        for answer in [
            try await client.postFile([1], ["Repr-Digest": value]),
            try await upload.append([1], at: 0, ["Repr-Digest": value]),
        ] {
            #expect(answer.status == 422 && answer.problem == "invalid-value")
        }
        #expect(try await upload.state().offset == 0)
    }

    @Test func `a media type that is none is refused`() async throws {
        let answer = try await client.postFile([1], ["Content-Type": "plain"])
        #expect(answer.status == 422 && answer.problem == "invalid-value")
    }

    // MARK: Reading

    @Test func `ranges and conditions are kept as with contents`() async throws {
        let upload = try await client.stage(bytes)
        let whole = try await upload.content()
        let tag = try #require(whole.headers["ETag"])
        #expect(whole.headers["Accept-Ranges"] == "bytes")
        let part = try await upload.content(["Range": "bytes=100000-299999", "If-Range": tag])
        #expect(part.status == 206 && part.body == Array(bytes[100_000..<300_000]))
        #expect(part.headers["Content-Range"] == "bytes 100000-299999/300001")
        #expect(try await upload.content(["Range": "bytes=-1"]).body == [bytes[300_000]])
        let stale = try await upload.content(["Range": "bytes=0-1", "If-Range": "\"x\""])
        #expect(stale.status == 200)
        #expect(try await upload.content(["If-None-Match": tag]).status == 304)
        #expect(try await upload.content(["If-Match": "\"x\""]).problem == "precondition-failed")
        let beyond = try await upload.content(["Range": "bytes=300001-"])
        #expect(beyond.problem == "range-not-satisfiable")
        #expect(beyond.headers["Content-Range"] == "bytes */300001")
    }

    @Test func `files are listed page by page in the order of creation`() async throws {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            var ids: [String] = []
            for _ in 0..<5 { ids.append(try await client.openUpload().id) }
            var listed: [String] = []
            var cursor = ""
            repeat {
                let page = try await client.get("/v1/files?limit=2\(cursor)").json(200, of: "list")
                let files = page["files"].array ?? []
                #expect(files.count <= 2)
                listed += files.compactMap { $0["id"].string }
                cursor = page["nextCursor"].string.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(listed == ids)
            for query in ["limit=0", "limit=501", "cursor=x"] {
                let answer = try await client.get("/v1/files?\(query)")
                #expect(answer.status == 422 && answer.problem == "invalid-value")
            }
        }
    }

    @Test(arguments: ["fil_", "fil_0", "..", "%2e%2e", "fil_000000000000%2f..", "x"])
    func `no name of a file is a path`(name: String) async throws {
        for method in ["GET", "PATCH", "DELETE"] {
            let answer = try await client.send(
                method, "/v1/files/\(name)", ["Upload-Offset": "0"],
                body: method == "PATCH" ? [1] : nil)
            #expect(answer.status == 404 || answer.status == 400, "\(method) \(answer.status)")
        }
    }
}
