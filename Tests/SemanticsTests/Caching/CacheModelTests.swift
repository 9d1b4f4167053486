import Syntax
import TestSupport
import Testing

@testable import Semantics

/// A cache that carries out what the rules decide, in front of an honest origin.
private struct CacheModel {
    /// A content is the number of its version; every version has an entity tag and a length of its
    /// own.
    struct Origin {
        var version: Int64 = 1
        var control = "max-age=10"
        var vary: String?
        var hasTags = true
        var requests = 0

        mutating func answer(_ method: String, _ headers: HeaderList, at now: Timestamp)
            -> OriginAnswer
        {
            requests += 1
            if method == "POST" { version += 1 }
            let tag = "\"v\(version)\""
            var fields: HeaderList = [
                "Date": now.httpDate.description, "Cache-Control": control,
                "Content-Length": String(version),
            ]
            if hasTags { fields.append("ETag", tag) }
            if let vary { fields.append("Vary", vary) }
            let isSame = hasTags && headers.values(of: "If-None-Match").contains(tag)
            let status = isSame && method != "POST" ? 304 : 200
            if status == 304 { fields = fields.removing(["Content-Length"]) }
            return OriginAnswer(
                status: status, headers: fields, requestTime: now, responseTime: now)
        }
    }

    struct Delivered: Equatable {
        var status: Int
        var version: Int64
        var tag: String?
        var length: String?
        var isHit: Bool
    }

    var origin = Origin()
    var entries: [StoredResponse] = []
    var lastID: Int64 = 0

    mutating func get(_ request: CacheRequest, at now: Timestamp) throws -> Delivered {
        switch CacheDecision(request, candidates: entries, at: now) {
        case .serve(let answer): return try delivered(answer, isHit: true)
        case .serveWhileRevalidating(let answer, let forwarding):
            let stale = try delivered(answer, isHit: true)
            _ = try send(forwarding, at: now)
            return stale
        case .forward(let forwarding): return try send(forwarding, at: now)
        case .fail(let code):
            return Delivered(status: code.rawValue, version: 0, tag: nil, length: nil, isHit: true)
        }
    }

    private mutating func send(_ forwarding: Forwarding, at now: Timestamp) throws -> Delivered {
        let request = forwarding.request
        let answer = origin.answer(request.method, forwarding.headers, at: now)
        let update = CacheUpdate(answer, to: forwarding, candidates: entries)
        let result: Delivered
        switch update.delivery {
        case .origin:
            result = Delivered(
                status: answer.status, version: origin.version, tag: answer.headers.first("ETag"),
                length: answer.headers.first("Content-Length"), isHit: false)
        case .validated(let stored), .stale(let stored):
            result = try delivered(stored, isHit: false)
        case .again(let second): return try send(second, at: now)
        }
        if !update.invalidated.isEmpty { entries = [] }
        entries.removeAll { update.removed.contains($0.id) }
        for fresh in update.updated {
            let index = try #require(entries.firstIndex { $0.id == fresh.id })
            entries[index] = fresh
        }
        if update.storability == .storable {
            lastID += 1
            // The length of what is kept is the version: that tells a content from another's.
            let new = try StoredResponse.make(
                answer.headers, id: lastID, to: request, status: answer.status,
                length: origin.version, at: now)
            let replaced = try #require(new.predecessors(answering: request, among: entries))
            entries.removeAll { replaced.map(\.id).contains($0.id) }
            entries.append(new)
        }
        return result
    }

    private func delivered(_ answer: CachedAnswer, isHit: Bool) throws -> Delivered {
        let entry = try #require(entries.first { $0.id == answer.entry })
        return Delivered(
            status: answer.status, version: entry.length, tag: answer.headers.first("ETag"),
            length: answer.headers.first("Content-Length"), isHit: isHit)
    }
}

struct CacheModelTests {
    @Test func `RFC 9111: fetched once, used while fresh, confirmed, replaced when changed`() throws
    {
        var cache = CacheModel()
        #expect(try !cache.get(.make(), at: .arrival).isHit)
        #expect(try cache.get(.make(), at: .later(9)).isHit)
        #expect(cache.origin.requests == 1)
        let confirmed = try cache.get(.make(), at: .later(11))
        #expect(
            confirmed == .init(status: 200, version: 1, tag: "\"v1\"", length: "1", isHit: false))
        #expect(try cache.get(.make(), at: .later(20)).isHit)
        #expect(cache.origin.requests == 2)
        cache.origin.version = 2
        #expect(try cache.get(.make(), at: .later(20)).version == 1)
        #expect(try cache.get(.make(), at: .later(22)).version == 2)
        #expect(cache.entries.map(\.length) == [2])
        #expect(cache.origin.requests == 3)
    }

    @Test func `RFC 9111 4.4: what a POST changed is fetched anew`() throws {
        var cache = CacheModel()
        _ = try cache.get(.make(), at: .arrival)
        _ = try cache.get(.make(method: "POST"), at: .later(1))
        #expect(cache.entries.isEmpty)
        #expect(
            try cache.get(.make(), at: .later(2))
                == .init(status: 200, version: 2, tag: "\"v2\"", length: "2", isHit: false))
    }

    @Test func `RFC 5861 3: a stale response is used once, and the next one is the new one`() throws
    {
        var cache = CacheModel()
        cache.origin.control = "max-age=10, stale-while-revalidate=60"
        _ = try cache.get(.make(), at: .arrival)
        cache.origin.version = 2
        let stale = try cache.get(.make(), at: .later(30))
        #expect(stale.isHit && stale.version == 1)
        let fresh = try cache.get(.make(), at: .later(31))
        #expect(fresh.isHit && fresh.version == 2)
        #expect(cache.origin.requests == 2)
    }

    @Test func `RFC 9111 4.1: variants live side by side`() throws {
        var cache = CacheModel()
        cache.origin.vary = "A"
        for name in ["1", "2", "1", "2"] { _ = try cache.get(.make(["A": name]), at: .arrival) }
        #expect(cache.origin.requests == 2)
        #expect(cache.entries.count == 2)
    }

    /// Long random lives of a cache: heads and contents stay together, and nothing is older than it
    /// says.
    @Test(arguments: 0..<60 as Range<UInt64>)
    func `RFC 9111: a head never comes with another one's content, nor a content too late`(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed)
        var cache = CacheModel()
        cache.origin.hasTags = seed % 5 != 0
        cache.origin.vary = seed % 3 == 0 ? "A" : nil
        let lifetime = 10.0
        cache.origin.control =
            ["max-age=10", "max-age=10, must-revalidate", "max-age=10, no-cache"][
                Int(seed % 3)]
        var now = 0.0
        // When each version stopped being the newest.
        var ends: [Int64: Double] = [:]
        var oldestAllowed: Int64 = 1
        for _ in 0..<120 {
            now += Double.random(in: 0..<6, using: &generator)
            let request = CacheRequest.make(
                ["A": String(Int.random(in: 0..<3, using: &generator))],
                policy: Int.random(in: 0..<9, using: &generator) == 0
                    ? .reloadRevalidatingCacheData : .useProtocolCachePolicy)
            switch Int.random(in: 0..<12, using: &generator) {
            case 0:
                ends[cache.origin.version] = now
                cache.origin.version += 1
            case 1:
                ends[cache.origin.version] = now
                var post = request
                post.method = "POST"
                _ = try cache.get(post, at: .later(now))
                oldestAllowed = cache.origin.version
            default:
                let got = try cache.get(request, at: .later(now))
                #expect(got.status == 200)
                #expect(got.length == String(got.version))
                if let tag = got.tag { #expect(tag == "\"v\(got.version)\"") }
                #expect(got.version >= oldestAllowed)
                if !got.isHit { #expect(got.version == cache.origin.version) }
                // A second of play: fields are written in whole ones.
                if let end = ends[got.version] { #expect(now - end <= lifetime + 1) }
                if seed % 3 == 2 || request.policy != .useProtocolCachePolicy {
                    #expect(!got.isHit)
                }
            }
            #expect(cache.entries.count <= 3)
        }
        #expect(cache.origin.requests < 140)
    }
}
