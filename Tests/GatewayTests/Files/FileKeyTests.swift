import Foundation
import TestSupport
import Testing

/// a file is staged once, however often it is asked for.
@Suite(.sharedGateway)
struct FileKeyTests {
    private let client: TestClient
    private let bytes = Pattern.bytes(count: 100_000)
    /// A key of its own for each test.
    private let key = UUID().uuidString
    private var field: HeaderLines { ["Idempotency-Key": key] }

    init() throws { client = try RunningGateway.shared.client }

    @Test func `the same request again is answered with the file as it is now`() async throws {
        let first = try await client.postFile(bytes, field)
        let second = try await client.postFile(bytes, field)
        #expect(first.status == 201 && first.headers["Idempotency-Replayed"] == nil)
        #expect(second.status == 201 && second.headers["Idempotency-Replayed"] == "true")
        #expect(second.json == first.json)
        #expect(second.headers["Location"] == first.headers["Location"])
        #expect(TestUpload.State(second) == .init(offset: bytes.count, isComplete: true))
    }

    @Test func `what is different in method, fields or length is another request`() async throws {
        _ = try await client.postFile(bytes, field)
        let others = [
            try await client.postFile(bytes + [1], field),
            try await client.postFile(bytes, field.appending(["Upload-Complete": "?0"])),
            try await client.postFile(bytes, field.appending(["Content-Type": "a/b"])),
            try await client.postFile(
                bytes, field.appending(["Repr-Digest": try await ReferenceDigest.of(bytes)])),
            try await client.postFile(nil, field),
        ]
        for answer in others {
            #expect(answer.status == 422 && answer.problem == "idempotency-key-reused")
        }
    }

    @Test func `many requests at once create one file`() async throws {
        let ids = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                group.addTask { [client, field] in
                    try await client.postFile(nil, field).json["id"].string
                }
            }
            var ids: Set<String?> = []
            for try await id in group { ids.insert(id) }
            return ids
        }
        #expect(ids.count == 1 && !ids.contains(nil))
    }

    @Test func `a file whose bytes were cut off is found by its key, and gone on with`()
        async throws
    {
        let connection = try await client.connect()
        let field = field.appending(["Upload-Length": "\(bytes.count)"])
        try await connection.send(
            client.requestHead("POST", "/v1/files", field, bodyLength: bytes.count))
        try await connection.send(Array(bytes[..<40_000]))
        connection.endSending()
        let cut = try await connection.response(to: "POST")
        #expect(cut.status == 400 && TestUpload.State(cut) != nil)
        let again = try await client.postFile(bytes, field)
        #expect(again.status == 201 && again.headers["Idempotency-Replayed"] == "true")
        #expect(again.json["complete"].bool == false)
        let state = try #require(TestUpload.State(again))
        #expect(state == TestUpload.State(cut) && state.offset <= 40_000)
        #expect(again.headers["Location"] == cut.headers["Location"])
        let upload = TestUpload(client: client, id: again.json["id"].string ?? "")
        let end = Array(bytes[state.offset...])
        #expect(try await upload.append(end, at: state.offset, completes: true).status == 204)
        #expect(try await upload.content().body == bytes)
    }

    @Test func `a key whose file is gone creates no other one`() async throws {
        let upload = try await client.stage(bytes, field)
        #expect(try await client.delete(upload.path).status == 204)
        let answer = try await client.postFile(bytes, field)
        #expect(answer.status == 410 && answer.problem == "creation-forgotten")
    }

    @Test func `what was refused leaves the key free`() async throws {
        let refused = try await client.postFile(
            bytes, field.appending(["Upload-Length": "\(bytes.count + 1)"]))
        #expect(refused.problem == "inconsistent-length")
        #expect(try await client.postFile(bytes, field).status == 201)
    }
}
