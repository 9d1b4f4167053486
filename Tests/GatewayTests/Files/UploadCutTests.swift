import Foundation
import Semantics
import TestSupport
import Testing

/// Connections that are cut, and requests that meet at one file.
@Suite(.sharedGateway)
struct UploadCutTests {
    private let client: TestClient

    init() throws { client = try RunningGateway.shared.client }

    private enum Cut: CaseIterable {
        case close, reset, half
    }

    @Test(arguments: 0..<4)
    func `after cuts at any byte the upload goes on, and the digest is right (R-3)`(
        _ round: Int
    ) async throws {
        let bytes = Pattern.bytes(count: 1_500_001)
        let digest = try await ReferenceDigest.of(bytes)
        let upload = try await client.openUpload([
            "Upload-Length": "\(bytes.count)", "Repr-Digest": digest,
        ])
        var offset = 0
        var furthest = 0
        for cut in Cut.allCases + Cut.allCases {
            let rest = bytes[offset...]
            let connection = try await upload.begin(
                at: offset, length: rest.count, completes: true)
            let sent = Int.random(in: 0...min(rest.count - 1, 400_000))
            try await connection.send(Array(rest.prefix(sent)))
            furthest = max(furthest, offset + sent)
            switch cut {
            case .close: connection.close()
            case .reset: connection.reset()
            case .half:
                // A client that still listens is told how far it came.
                connection.endSending()
                let answer = try await connection.response(to: "PATCH")
                // A request that was cut before may have come in between.
                #expect(
                    answer.problem == "malformed-request" || answer.problem == "wrong-offset",
                    "\(answer.status) \(answer.text)")
                let told = try #require(TestUpload.State(answer))
                #expect(try await upload.state() == told)
            }
            let state = try await upload.state()
            #expect(!state.isComplete)
            #expect(state.offset >= offset && state.offset <= furthest)
            offset = state.offset
        }
        try await eventually("the end") {
            offset = try await upload.state().offset
            let last = try await upload.append(Array(bytes[offset...]), at: offset, completes: true)
            return last.status == 204
        }
        #expect(try await upload.content().body == bytes)
    }

    @Test func `a file of one request that was cut is dropped, unless its client can come back`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            for (fields, isKept) in [([:], false), (["Upload-Complete": "?1"], true)]
                as [(HeaderLines, Bool)]
            {
                let connection = try await client.connect()
                try await connection.send(
                    client.requestHead("POST", "/v1/files", fields, bodyLength: 1000))
                try await connection.send(Pattern.bytes(count: 600))
                connection.endSending()
                let answer = try await connection.response(to: "POST")
                #expect(answer.status == 400)
                let files = try await client.get("/v1/files").json["files"].array ?? []
                #expect(files.count == (isKept ? 1 : 0))
                guard isKept else {
                    #expect(answer.headers["Location"] == nil && TestUpload.State(answer) == nil)
                    continue
                }
                let upload = TestUpload(client: client, id: files.first?["id"].string ?? "")
                #expect(answer.headers["Location"] == upload.path)
                let state = try #require(TestUpload.State(answer))
                let end = Pattern.bytes(from: state.offset, count: 1000 - state.offset)
                try await upload.append(end, at: state.offset, completes: true)
                #expect(try await upload.content().body == Pattern.bytes(count: 1000))
            }
        }
    }

    @Test func `chunks that make no sense end the request, and what came before stays`()
        async throws
    {
        let upload = try await client.openUpload()
        let connection = try await client.connect()
        try await connection.send(
            client.requestHead(
                "PATCH", upload.path, ["Upload-Offset": "0", "Transfer-Encoding": "chunked"]))
        try await connection.send("3\r\nabc\r\nxyz")
        let answer = try await connection.response(to: "PATCH")
        #expect(answer.status == 400 && answer.problem == "malformed-request")
        let state = try #require(TestUpload.State(answer))
        #expect(state == .init(offset: 3, isComplete: false))
        #expect(try await upload.state() == state)
    }

    // MARK: One request at a time

    /// A request that has sent some of its bytes, and sends no more.
    private func stuck(_ upload: TestUpload, after count: Int) async throws -> TestConnection {
        let connection = try await upload.begin(at: 0, length: 1_000_000, completes: true)
        try await connection.send(Pattern.bytes(count: count))
        // The second checkpoint at the latest has all of it.
        try await eventually("a checkpoint") { try await upload.listed()["length"].int == count }
        return connection
    }

    @Test func `a client that comes back is not locked out by its dead predecessor`() async throws {
        let upload = try await client.openUpload()
        let dead = try await stuck(upload, after: 70_000)
        let stale = try await upload.append([9], at: 0)
        #expect(stale.problem == "wrong-offset" && stale.json["expected-offset"].int == 70_000)
        // The predecessor is told at once, though it sends nothing.
        let answer = try await dead.response(to: "PATCH")
        #expect(answer.status == 409 && answer.problem == "upload-superseded")
        #expect(TestUpload.State(answer) == nil)
        // The length that the predecessor has announced is still the file's.
        let end = Pattern.bytes(from: 70_000, count: 930_000)
        #expect(try await upload.append([1], at: 70_000).status == 204)
        #expect(
            try await upload.append(Array(end[1...]), at: 70_001, completes: true).status == 204)
        #expect(
            try await upload.content().body == Pattern.bytes(count: 70_000) + [1] + end[1...])
    }

    @Test func `HEAD and DELETE end a request that still appends`() async throws {
        let upload = try await client.openUpload()
        let first = try await stuck(upload, after: 5000)
        #expect(try await upload.state() == .init(offset: 5000, isComplete: false))
        #expect(try await first.response(to: "PATCH").problem == "upload-superseded")
        let second = try await upload.begin(at: 5000, length: 10)
        try await second.send([1])
        #expect(try await client.delete(upload.path).status == 204)
        #expect(try await second.response(to: "PATCH").status >= 404)
        #expect(try await upload.head().status == 404)
    }

    @Test func `whoever may only read sees how far an upload is, and ends nothing`() async throws {
        let upload = try await client.openUpload()
        let first = try await stuck(upload, after: 5000)
        let reader = client.with(token: try await client.makeToken([.read]).text)
        let seen = TestUpload(client: reader, id: upload.id)
        #expect(try await seen.state() == .init(offset: 5000, isComplete: false))
        try await first.send(Pattern.bytes(from: 5000, count: 995_000))
        #expect(try await first.response(to: "PATCH").status == 204)
        #expect(try await seen.state() == .init(offset: 1_000_000, isComplete: true))
        #expect(try await upload.content().body == Pattern.bytes(count: 1_000_000))
    }

    @Test func `of many requests at once one has effect, and no byte is mixed`() async throws {
        let upload = try await client.openUpload()
        let bytes = Pattern.bytes(count: 300_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let cut = bytes.count - number * 1000
                    let answer = try await upload.append(Array(bytes[..<cut]), at: 0)
                    let isRefused =
                        answer.problem == "upload-superseded" || answer.problem == "wrong-offset"
                    #expect(answer.status == 204 || isRefused, "\(answer.status) \(answer.text)")
                }
            }
            try await group.waitForAll()
        }
        let offset = try await upload.state().offset
        let end = Array(bytes[offset...])
        #expect(try await upload.append(end, at: offset, completes: true).status == 204)
        #expect(try await upload.content().body == bytes)
    }

    // MARK: Memory

    @Test func `64 MiB go through a memory of little more than their blocks`() async throws {
        try await RunningGateway.alone { gateway in
            let upload = try await gateway.client.openUpload()
            // What the first use costs is not counted.
            try await upload.append(Pattern.bytes(count: 4 << 20), at: 0)
            let before = try gateway.process.residentBytes()
            let connection = try await upload.begin(at: 4 << 20, length: 64 << 20, completes: true)
            let piece = Pattern.bytes(count: 1 << 20)
            var peak = before
            for _ in 0..<64 {
                try await connection.send(piece, within: .seconds(60))
                peak = max(peak, try gateway.process.residentBytes())
            }
            let answer = try await connection.response(to: "PATCH", within: .seconds(60))
            #expect(TestUpload.State(answer) == .init(offset: 68 << 20, isComplete: true))
            #expect(peak - before < 32 << 20, "\((peak - before) >> 10) KiB")
        }
    }
}
