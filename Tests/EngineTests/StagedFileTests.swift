import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Files that clients send ahead of the tasks that upload them.
@Suite(.onLoop)
struct StagedFileTests {
    private static let kib = 1024
    private static let stranger = TenantID(rawValue: 2)

    // MARK: Bytes

    @Test(arguments: [
        0, 1, 4095, 4096, 4097, 32 * kib, 64 * kib - 1, 64 * kib, 64 * kib + 1, 320 * kib + 1,
        1344 * kib + 4095, 3_000_001,
    ]) @LoopActor
    func `a file of any length comes out as it went in, in any number of requests (R-3)`(
        length: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: length)
        let digest = SumDigests.digest(bytes)
        for parts in [1, 2, 3, 7] {
            let id = try await harness.file(
                StagedFileSpec(
                    announcedLength: Int64(length), expectedDigest: digest, mediaType: "a/b"))
            let size = max(1, (length + parts - 1) / parts)
            for start in stride(from: 0, to: length, by: size) {
                let end = min(length, start + size)
                let file = try await harness.append(Array(bytes[start..<end]), to: id)
                #expect(file.length == end && !file.isComplete)
            }
            let whole = try await harness.append([], to: id, completes: true)
            #expect(whole.isComplete && whole.length == length && whole.mediaType == "a/b")
            #expect(try await harness.bytes(of: id) == bytes)
            #expect(try await harness.stored(id) == whole)
            #expect(try harness.names(of: id) == [id.description])
        }
    }

    @Test @LoopActor
    func `a part of a file can be read`() async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 700_000)
        let id = try await harness.file(bytes)
        #expect(try await harness.bytes(of: id, 0..<1) == Array(bytes[..<1]))
        #expect(
            try await harness.bytes(of: id, 300_000..<650_001) == Array(bytes[300_000..<650_001]))
        #expect(try await harness.bytes(of: id, 699_999..<700_000) == Array(bytes[699_999...]))
    }

    @Test @LoopActor
    func `an upload that was not completed cannot be read, a complete one not appended to`()
        async throws
    {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        try await harness.append([1, 2], to: id)
        #expect(await outcome { try await harness.bytes(of: id) }.refusal == .uploadIncomplete)
        try await harness.append([], to: id, completes: true)
        let more = await outcome { try await harness.append([3], to: id) }
        #expect(more.refusal == .uploadCompleted && more.interruption?.file?.length == 2)
        #expect(
            await outcome { try await harness.append([], to: id, completes: true) }.refusal
                == .uploadCompleted)
        #expect(try await harness.bytes(of: id) == [1, 2])
    }

    @Test(arguments: [0, 1, 3]) @LoopActor
    func `bytes are appended at the end and nowhere else`(offset: Int64) async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        try await harness.append([1, 2], to: id)
        let answer = await outcome { try await harness.append([9], to: id, at: offset) }
        #expect(answer.refusal == .wrongOffset(expected: 2, provided: offset))
        #expect(answer.interruption?.file?.length == 2)
        try await harness.append([3], to: id, at: 2, completes: true)
        #expect(try await harness.bytes(of: id) == [1, 2, 3])
    }

    // MARK: Lengths

    @Test @LoopActor
    func `what contradicts the announced length is refused before a byte is taken`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file(StagedFileSpec(announcedLength: 10))
        let refusal = GatewayError.inconsistentLength(announced: 10)
        let eleven = Pattern.bytes(count: 11)
        #expect(await outcome { try await harness.append(eleven, to: id) }.refusal == refusal)
        #expect(
            await outcome { try await harness.append([1], to: id, completes: true) }.refusal
                == refusal)
        #expect(
            await outcome { try await harness.append([1], to: id, announcing: 12) }.refusal
                == refusal
        )
        #expect(try harness.gateway.files.record(id, of: harness.tenant).length == 0)
        #expect(try harness.names(of: id).isEmpty)
        try await harness.append(Array(eleven[..<10]), to: id, completes: true)
        #expect(try await harness.bytes(of: id) == Array(eleven[..<10]))
    }

    @Test @LoopActor
    func `a stream that is longer or shorter than announced does not complete the file`()
        async throws
    {
        let harness = try await TestGateway.open()
        let id = try await harness.file(StagedFileSpec(announcedLength: 10))
        let refusal = GatewayError.inconsistentLength(announced: 10)
        for (count, kept) in [(4, 4), (9, 4)] {
            let feed = ScriptedFeed()
            let append = try harness.begin(feed, to: id, completes: true)
            feed.send(Pattern.bytes(count: count))
            feed.finish()
            let answer = await append.result
            #expect(answer.refusal == refusal)
            #expect(answer.interruption?.file?.length == Int64(kept))
            #expect(answer.interruption?.file?.isComplete == false)
        }
        try await harness.append(Pattern.bytes(from: 4, count: 6), to: id, completes: true)
        #expect(try await harness.bytes(of: id) == Pattern.bytes(count: 10))
    }

    @Test @LoopActor
    func `a length may be announced later, and holds from then on`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        let file = try await harness.append([1], to: id, announcing: 3)
        #expect(file.announcedLength == 3)
        #expect(
            await outcome { try await harness.append([2, 3, 4], to: id) }.refusal
                == .inconsistentLength(announced: 3))
        // With the last request the length is announced, too: one that was cut binds the next one.
        let other = try await harness.file()
        let feed = ScriptedFeed()
        let order = FileAppend(offset: 0, length: 5, completes: true)
        let append = LoopActor.start {
            try await harness.gateway.files.append(
                order, to: other, of: harness.tenant, from: feed.feed)
        }
        feed.send([1, 2])
        feed.finish(ScriptedFeed.Cut())
        #expect(await append.result.interruption?.file?.announcedLength == 5)
        #expect(
            await outcome { try await harness.append([3], to: other, completes: true) }.refusal
                == .inconsistentLength(announced: 5))
    }

    // MARK: Digests

    @Test(arguments: [DigestAlgorithm.sha256, .sha512]) @LoopActor
    func `a file with another digest is refused, and gone (R-3)`(
        algorithm: DigestAlgorithm
    ) async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 200_000)
        let digest = try #require(SumDigests.digest(bytes, algorithm))
        let id = try await harness.file(StagedFileSpec(expectedDigest: digest))
        try await harness.append(Array(bytes[..<150_000]), to: id)
        let answer = await outcome {
            try await harness.append(Array(bytes[150_001...]), to: id, completes: true)
        }
        #expect(answer.refusal == .digestMismatch(expected: digest))
        let interruption = try #require(answer.interruption)
        #expect(interruption.file == nil)
        #expect(
            await outcome { try await harness.append([1], to: id, at: 0) }.refusal == .noSuchFile)
        #expect(try await harness.stored(id) == nil)
        #expect(try harness.names(of: id).isEmpty)
    }

    @Test @LoopActor
    func `a digest may come with the last bytes, and must not be another one`() async throws {
        let harness = try await TestGateway.open()
        let bytes = Pattern.bytes(count: 5000)
        let digest = try #require(SumDigests.digest(bytes))
        let other = try #require(SumDigests.digest([1]))
        let id = try await harness.file()
        try await harness.append(Array(bytes[..<1000]), to: id, digest: digest)
        #expect(
            await outcome { try await harness.append([1], to: id, digest: other) }.refusal
                == .digestMismatch(expected: digest))
        try await harness.append(Array(bytes[1000...]), to: id, completes: true)
        let late = try await harness.file()
        try await harness.append(bytes, to: late)
        let answer = await outcome {
            try await harness.append([], to: late, completes: true, digest: other)
        }
        #expect(answer.refusal == .digestMismatch(expected: other))
        #expect(try await harness.bytes(of: id) == bytes)
    }

    // MARK: Tenants and lists

    @Test @LoopActor
    func `another tenant has nothing of it, and ends nobody's upload (X-13)`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: id, completes: true)
        feed.send([1])
        try await eventually("a byte") { feed.takenCount == 1 }
        let stranger = Self.stranger
        let order = FileAppend(offset: 0, length: 1, completes: true)
        let calls: [@LoopActor () async throws -> Void] = [
            { _ = try await harness.gateway.files.read(id, of: stranger) },
            { _ = try harness.gateway.files.record(id, of: stranger) },
            { _ = try harness.gateway.files.open(id, of: stranger) },
            { try await harness.gateway.files.delete(id, of: stranger) },
            { _ = try await harness.gateway.files.staged.open(id, length: 1, of: stranger) },
            {
                _ = try await harness.gateway.files.append(
                    order, to: id, of: stranger, from: ScriptedFeed.of([9]))
            },
        ]
        for call in calls { #expect(await outcome(of: call).refusal == .noSuchFile) }
        let answer = await outcome {
            try await harness.gateway.files.append(
                order, to: id, of: stranger, from: ScriptedFeed.of([9]))
        }
        #expect(answer.interruption?.file == nil)
        #expect(await harness.gateway.files.list(of: stranger, after: nil, limit: 10).isEmpty)
        feed.send([2])
        feed.finish()
        #expect(try await append.value.length == 2)
    }

    @Test @LoopActor
    func `files are listed in the order of creation, page by page`() async throws {
        let harness = try await TestGateway.open()
        var ids: [FileID] = []
        for _ in 0..<5 { ids.append(try await harness.file()) }
        _ = try await harness.gateway.files.create(StagedFileSpec(), of: Self.stranger)
        try await harness.append([1, 2, 3], to: ids[1])
        let all = await harness.gateway.files.list(of: harness.tenant, after: nil, limit: 100)
        #expect(all.map(\.id) == ids && all.map(\.length) == [0, 3, 0, 0, 0])
        let page = await harness.gateway.files.list(of: harness.tenant, after: ids[1], limit: 2)
        #expect(page.map(\.id) == Array(ids[2...3]))
        #expect(
            await harness.gateway.files.list(of: harness.tenant, after: ids[4], limit: 2).isEmpty)
    }

    // MARK: One request at a time

    @Test @LoopActor
    func `a second request ends the first one, and goes on behind its bytes`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        let bytes = Pattern.bytes(count: 100_000)
        let dead = ScriptedFeed()
        let first = try harness.begin(dead, to: id)
        dead.send(Array(bytes[..<70_001]))
        try await eventually("the bytes") { dead.takenCount == 70_001 }
        // The offset that the client had heard of is not the right one any more.
        let stale = await outcome { try await harness.append([9], to: id, at: 0) }
        #expect(stale.refusal == .wrongOffset(expected: 70_001, provided: 0))
        #expect(await first.result.refusal == .uploadSuperseded)
        #expect(dead.isInterrupted)
        try await harness.append(Array(bytes[70_001...]), to: id, completes: true)
        #expect(try await harness.bytes(of: id) == bytes)
    }

    @Test @LoopActor
    func `who asks for the offset is told one that the next request may use`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        for round in 1...5 {
            let feed = ScriptedFeed()
            let append = try harness.begin(feed, to: id)
            feed.send(Pattern.bytes(from: (round - 1) * 999, count: 999))
            try await eventually("the bytes") { feed.takenCount == 999 }
            let file = try await harness.gateway.files.read(id, of: harness.tenant)
            #expect(file.length == Int64(round * 999))
            #expect(await append.result.refusal == .uploadSuperseded)
        }
        try await harness.append([], to: id, completes: true)
        #expect(try await harness.bytes(of: id) == Pattern.bytes(count: 4995))
    }

    @Test @LoopActor
    func `of many requests at once one is served at a time, and no byte is mixed`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        let bytes = Pattern.bytes(count: 40_000)
        let requests = (0..<20).map { _ in
            LoopActor.start { try await harness.append(bytes, to: id, at: 0) }
        }
        var served = 0
        for request in requests {
            switch await request.result {
            case .success(let file):
                served += 1
                #expect(file.length == 40_000)
            case let result:
                let refusal = result.refusal
                #expect(
                    refusal == .uploadSuperseded
                        || refusal == .wrongOffset(expected: 40_000, provided: 0))
            }
        }
        let file = try await harness.gateway.files.read(id, of: harness.tenant)
        #expect(served <= 1 && file.length <= 40_000)
        try await harness.append(Array(bytes[Int(file.length)...]), to: id, completes: true)
        #expect(try await harness.bytes(of: id) == bytes)
    }

    @Test @LoopActor
    func `a request that is about to complete the file is waited for`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        harness.store.hold()
        let last = LoopActor.start { try await harness.append([1, 2], to: id, completes: true) }
        try await eventually("the whole file") {
            try harness.names(of: id) == [id.description]
        }
        let second = LoopActor.start { try await harness.append([9], to: id, at: 0) }
        let look = LoopActor.start { try await harness.gateway.files.read(id, of: harness.tenant) }
        for _ in 0..<20 { await harness.turn() }
        harness.store.release()
        #expect(try await last.value.isComplete)
        #expect(await second.result.refusal == .uploadCompleted)
        #expect(try await look.value.isComplete)
    }

    @Test @LoopActor
    func `a file that is deleted ends its upload, and leaves nothing`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.file()
        let feed = ScriptedFeed()
        let append = try harness.begin(feed, to: id)
        feed.send(Pattern.bytes(count: 200_000))
        try await eventually("the bytes") { feed.takenCount == 200_000 }
        try await harness.gateway.files.delete(id, of: harness.tenant)
        #expect(await append.result.refusal == .uploadSuperseded)
        #expect(try await harness.stored(id) == nil)
        #expect(try harness.names(of: id).isEmpty)
        let look = await outcome { try await harness.gateway.files.read(id, of: harness.tenant) }
        #expect(look.refusal == .noSuchFile)
    }
}
