import Files
import Foundation
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Stored responses that cannot be read: an outage is a miss and loses nothing (S-24).
@Suite(.onLoop)
struct AwayCacheTests {
    private static let small = Array("content".utf8)
    private static let large = Pattern.bytes(count: 400_000)

    /// A gateway with one stored response, of which memory has nothing.
    @LoopActor
    private static func stored(
        _ body: [UInt8]
    ) async throws -> (harness: TestGateway, session: SessionID) {
        let harness = try await TestGateway.open(keepsContentsElsewhere: true)
        let session = try await harness.cachingSession { $0.urlCache.memoryCapacity = 0 }
        let first = try await harness.fetch(
            try harness.spec(), in: session, answering: CacheTests.fresh, body)
        try await harness.gateway.tasks.delete(first.id, of: harness.tenant)
        await harness.quiet()
        return (harness, session)
    }

    private static let outages: [(isOfStore: Bool, code: CInt)] = [
        (true, EHOSTDOWN), (false, EHOSTDOWN), (false, EMFILE), (false, EIO),
    ]

    @Test(arguments: outages) @LoopActor
    func `what cannot be read is a miss, and is there again later`(
        isOfStore: Bool, code: CInt
    ) async throws {
        let (harness, session) = try await Self.stored(isOfStore ? Self.small : Self.large)
        if isOfStore {
            harness.store.refuseReads(with: .away("It does not answer."))
        } else {
            harness.place?.wholeFailure = FileError("open", code: code)
        }
        let during = try await harness.fetch(
            try harness.spec(), in: session, answering: ["Cache-Control": "no-store"], [1])
        #expect(during.error == nil && during.response?.status == 200)
        harness.store.refuseReads(with: nil)
        harness.place?.wholeFailure = nil
        await harness.quiet()
        let after = try await harness.recall(try harness.spec(), in: session)
        #expect(after.requests == 0 && after.record.cacheStatus == "Ferry; hit; ttl=60")
        #expect(
            try await harness.read(after.record.id) == (isOfStore ? Self.small : Self.large))
    }

    @Test @LoopActor
    func `nothing is stored while it cannot be told what it takes the place of`() async throws {
        let (harness, session) = try await Self.stored(Self.small)
        var anew = try harness.spec()
        anew.request.cachePolicy = .reloadIgnoringLocalCacheData
        harness.store.refuseReads(with: .away("It does not answer."))
        for body in [Self.small, Self.large] {
            let record = try await harness.fetch(
                anew, in: session, answering: CacheTests.fresh, body)
            #expect(record.error == nil)
        }
        harness.store.refuseReads(with: nil)
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.entryCount == 1)
        try await eventually("no file of it") { try harness.wholeContents().count == 1 }
    }

    @Test @LoopActor
    func `what only the cache may answer fails, and is there again later`() async throws {
        let (harness, session) = try await Self.stored(Self.large)
        var spec = try harness.spec()
        spec.request.cachePolicy = .returnCacheDataDontLoad
        harness.place?.wholeFailure = FileError("open", code: EHOSTDOWN)
        #expect(try await harness.recall(spec, in: session).record.error?.code == -1008)
        harness.place?.wholeFailure = nil
        #expect(try await harness.recall(spec, in: session).record.error == nil)
    }

    /// What a stored response was that is asked for again: fresh, or confirmed by the origin.
    @Test(arguments: [EHOSTDOWN, EIO, ESTALE], [false, true]) @LoopActor
    func `what cannot be read from its first byte on is a miss`(
        code: CInt, isStale: Bool
    ) async throws {
        let (harness, session) = try await Self.stored(Self.large)
        if isStale { harness.clock.advance(by: .seconds(100)) }
        let place = try #require(harness.place)
        place.readFailure = FileError("pread", code: code)
        let task = try await harness.create(try harness.spec(), in: session)
        if isStale { try await harness.network.attempt(1).answer(304, CacheTests.fresh) }
        let attempt = try await harness.network.attempt(isStale ? 2 : 1)
        #expect(attempt.request.headers.first("If-None-Match") == nil)
        attempt.answer(200, ["Cache-Control": "no-store"], [1])
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 200)
        #expect(
            harness.recorder.story(of: task).count { $0 == "didReceiveResponse" } == 1)
        place.readFailure = nil
        let isGone = code == ESTALE
        let cache = try #require(harness.gateway.sessions.directory[session]?.cache)
        let key = CacheKey(try harness.spec().request.url)
        #expect(await cache.candidates(for: key).isEmpty == isGone)
    }

    @Test(arguments: [EHOSTDOWN, EIO, 0]) @LoopActor
    func `what fails behind its first bytes tells why, and does so once unless it is away`(
        code: CInt
    ) async throws {
        let (harness, session) = try await Self.stored(Self.large)
        let place = try #require(harness.place)
        (place.readFailure, place.readableLength) = (FileError("pread", code: code), 300_000)
        let record = try await harness.recall(try harness.spec(), in: session).record
        #expect(record.error?.kind == .url(.cannotOpenFile))
        #expect(record.error?.underlying?.code == (code == 0 ? nil : Int(code)))
        place.readFailure = nil
        let task = try await harness.create(try harness.spec(), in: session)
        if code != EHOSTDOWN {
            try await harness.network.attempt(1).answer(200, CacheTests.fresh, Self.large)
        }
        let again = try await harness.finished(task)
        #expect(
            again.error == nil && (again.cacheStatus == "Ferry; hit; ttl=60") == (code == EHOSTDOWN)
        )
    }
}
