import TestSupport
import Testing

@testable import Semantics

/// What holds for whatever is stored and asked for.
struct CachePropertyTests {
    private static let responseControls = [
        "max-age=0", "max-age=5", "max-age=50", "max-age=x", "no-cache", "no-cache=\"x\"",
        "must-revalidate", "private", "public", "immutable", "s-maxage=9",
        "stale-while-revalidate=20", "stale-if-error=20", "must-understand", "no-store",
    ]
    private static let requestControls = [
        "max-age=0", "max-age=20", "min-fresh=10", "max-stale", "max-stale=15", "no-cache",
        "no-store", "only-if-cached", "stale-if-error=9", "no-transform",
    ]
    private static let responseFields = [
        HeaderField("ETag", "\"a\""), HeaderField("ETag", "W/\"a\""), HeaderField("Vary", "A"),
        HeaderField("Last-Modified", Timestamp.field(-300)), HeaderField("Age", "7"),
        HeaderField("Expires", Timestamp.field(30)), HeaderField("Expires", "0"),
        HeaderField("Date", Timestamp.field(-3)), HeaderField("Content-Encoding", "gzip"),
        HeaderField("Content-Length", "10"),
    ]
    private static let requestFields = [
        HeaderField("A", "1"), HeaderField("Range", "bytes=2-5"), HeaderField("Pragma", "no-cache"),
        HeaderField("If-None-Match", "\"a\""),
        HeaderField("If-Range", "\"a\""),
        HeaderField("If-Modified-Since", Timestamp.field(0)),
    ]

    private struct Case {
        var generator: SeededGenerator

        mutating func headers(_ controls: [String], _ fields: [HeaderField]) -> HeaderList {
            var list = HeaderList(
                fields.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 })
            let control = controls.filter { _ in Int.random(in: 0..<8, using: &generator) == 0 }
            if !control.isEmpty {
                list.append("Cache-Control", control.joined(separator: ", "))
            }
            return list
        }

        mutating func request() throws -> CacheRequest {
            .make(
                Int.random(in: 0..<4, using: &generator) == 0
                    ? ["Range": "bytes=2-5"] : headers(requestControls, requestFields),
                method: try #require(
                    ["GET", "GET", "GET", "GET", "GET", "HEAD", "POST"].randomElement(
                        using: &generator)),
                policy: Bool.random(using: &generator)
                    ? .useProtocolCachePolicy
                    : try #require(RequestCachePolicy.allCases.randomElement(using: &generator)),
                decodes: Bool.random(using: &generator))
        }

        mutating func candidates() throws -> [StoredResponse] {
            try (0..<Int64.random(in: 0..<4, using: &generator)).map { id in
                try .make(
                    Int.random(in: 0..<3, using: &generator) == 0
                        ? ["Cache-Control": "max-age=60, stale-while-revalidate=9"]
                        : headers(responseControls, responseFields),
                    id: id,
                    to: .make(["A": String(id)], decodes: Bool.random(using: &generator)),
                    status: Int.random(in: 0..<4, using: &generator) == 0 ? 404 : 200)
            }
        }
    }

    private func forEachCase(
        _ check: (inout SeededGenerator, CacheRequest, [StoredResponse], Timestamp) throws -> Void
    ) throws {
        for seed in 0..<700 as Range<UInt64> {
            var one = Case(generator: SeededGenerator(seed))
            let request = try one.request()
            let candidates = try one.candidates()
            let now = Timestamp.later(Double.random(in: 0..<90, using: &one.generator))
            try check(&one.generator, request, candidates, now)
        }
    }

    @Test func `RFC 9111 4: what is served matches, and is fresh or allowed to be stale`() throws {
        var hits = 0
        try forEachCase { _, request, candidates, now in
            let decision = CacheDecision(request, candidates: candidates, at: now)
            guard let id = decision.answer?.entry else { return }
            let entry = try #require(candidates.first { $0.id == id })
            hits += 1
            #expect(entry.answers(request))
            #expect(request.method != "POST")
            #expect(
                ![
                    .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
                    .reloadRevalidatingCacheData,
                ].contains(request.policy))
            guard request.policy == .useProtocolCachePolicy else { return }
            #expect(!entry.requiresValidation && !request.asksForValidation)
            if entry.remainingLifetime(at: now) <= 0 {
                #expect(!entry.forbidsStaleUse)
                #expect(
                    request.control.has("max-stale")
                        || CacheControl(of: entry.headers).has("stale-while-revalidate"))
            }
        }
        #expect(hits > 100)
    }

    @Test func `S-15: the order of what is stored changes no decision`() throws {
        try forEachCase { generator, request, candidates, now in
            let shuffled = candidates.shuffled(using: &generator)
            #expect(
                CacheDecision(request, candidates: candidates, at: now)
                    == CacheDecision(request, candidates: shuffled, at: now))
        }
    }

    @Test func `RFC 9111 4.2: time never makes fresh again what has gone stale`() throws {
        try forEachCase { _, _, candidates, now in
            let later = Timestamp(milliseconds: now.milliseconds + 1)
            for entry in candidates {
                #expect(entry.remainingLifetime(at: later) < entry.remainingLifetime(at: now))
                #expect(entry.age(at: later) >= entry.age(at: now))
            }
        }
    }

    @Test func `RFC 9110 14: a content lies within what is kept, and its length is what is told`()
        throws
    {
        var parts = 0
        try forEachCase { _, request, candidates, now in
            guard let answer = CacheDecision(request, candidates: candidates, at: now).answer,
                let id = answer.entry
            else { return }
            let entry = try #require(candidates.first { $0.id == id })
            #expect(answer.content.lowerBound >= 0)
            #expect(answer.content.upperBound <= entry.length)
            if answer.status == 206 {
                parts += 1
                #expect(
                    answer.headers.values(of: "Content-Length") == [String(answer.content.count)])
                #expect(answer.headers.values(of: "Content-Range").count == 1)
            }
            if answer.status == 304 || request.method == "HEAD" { #expect(answer.content.isEmpty) }
        }
        #expect(parts > 10)
    }

    @Test func `RFC 9111 3.2, 4.3: an answer touches only what is there, once, and loops never`()
        throws
    {
        var validated = 0
        try forEachCase { generator, request, candidates, now in
            let decision = CacheDecision(request, candidates: candidates, at: now)
            guard let forwarding = decision.forwarding else { return }
            let status = try #require(
                [200, 206, 302, 304, 304, 404, 500, 503].randomElement(using: &generator))
            var one = Case(generator: generator)
            let answer = OriginAnswer(
                status: status, headers: one.headers(Self.responseControls, Self.responseFields),
                requestTime: now, responseTime: now)
            let update = CacheUpdate(answer, to: forwarding, candidates: candidates)
            let touched = update.updated.map(\.id) + update.removed
            #expect(Set(touched).count == touched.count)
            #expect(Set(touched).isSubset(of: candidates.map(\.id)))
            for entry in update.updated {
                let before = try #require(candidates.first { $0.id == entry.id })
                #expect(entry.length == before.length && entry.isDecoded == before.isDecoded)
                #expect(
                    entry.headers.first("Content-Length") == before.headers.first("Content-Length"))
                #expect(entry.headers.values(of: "Date").count == 1)
            }
            switch update.delivery {
            case .origin: #expect(status != 304 || !forwarding.isConditional)
            case .validated(let delivered):
                validated += 1
                #expect(status == 304 && forwarding.isConditional)
                #expect(delivered.entry == forwarding.selected?.id)
                #expect(delivered.status != 304)
            case .stale: #expect([500, 503].contains(status))
            case .again(let second):
                #expect(status == 304 && forwarding.isConditional)
                #expect(!second.isConditional)
            }
        }
        #expect(validated > 5)
    }

    @Test func `RFC 9111 5.2: no bytes of a Cache-Control trap or hang its reader`() {
        let pieces = [
            "max-age", "=", "\"", "\\", ",", " ", "\t", "5", "no-store", ";", "é", "\u{0}", "'",
            "-",
        ]
        var generator = SeededGenerator(7)
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0..<12, using: &generator)).compactMap { _ in
                pieces.randomElement(using: &generator)
            }.joined()
            let control = CacheControl(of: ["Cache-Control": text])
            #expect(control.directives.count <= text.utf8.count)
            // A reader that is handed what it has read reads the same.
            let again = CacheControl(of: ["Cache-Control": "x=1," + text])
            #expect(Array(again.directives.dropFirst()) == control.directives)
            if case .value(let seconds) = control.seconds("max-age") { #expect(seconds >= 0) }
            let members = FieldList.members(text)
            #expect(members.allSatisfy { !$0.isEmpty })
        }
    }
}
