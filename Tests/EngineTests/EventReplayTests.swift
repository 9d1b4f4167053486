import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Replay joins the live stream at every place, without a gap and without a double (R-8, S-8).
@Suite(.onLoop)
struct EventReplayTests {
    /// Reads pages until there are no more.
    @LoopActor
    private func replay(
        _ stream: EventStreamKey, after position: Int64, through end: Int64, page: Int,
        in harness: TestGateway
    ) async throws -> [Event] {
        var events: [Event] = []
        var position = position
        while position < end {
            let more = try await harness.gateway.events.page(
                of: stream, after: position, limit: page)
            #expect(more.count <= page)
            guard let last = more.last else { break }
            events += more
            position = stream.position(of: last)
        }
        return events
    }

    /// Two sessions, one default and one ephemeral, in which tasks end in turn.
    @LoopActor
    private func play(_ harness: TestGateway, rounds: Int) async throws -> [(SessionID, TaskID)] {
        var tasks: [(SessionID, TaskID)] = []
        for round in 0..<rounds {
            for type in [SessionType.default, .ephemeral] {
                let session: SessionID
                if let known = tasks.first(where: {
                    harness.gateway.sessions.directory[$0.0]?.record.type == type
                }) {
                    session = known.0
                } else {
                    session = try await harness.session(type)
                }
                let number = harness.network.attempts.count
                let task = try await harness.create(try harness.spec(), in: session)
                try await harness.network.attempt(number).answer(200, [:], [UInt8(round)])
                tasks.append((session, task))
            }
        }
        for (_, task) in tasks { try await harness.recorder.end(of: task) }
        return tasks
    }

    @Test(arguments: [1, 3, 100]) @LoopActor
    func `from every position of every stream the rest is replayed, once and in order (R-8)`(
        page: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let tasks = try await play(harness, rounds: 3)
        let numbered = harness.recorder.events.filter { !$0.body.isProgress }
        var streams: [EventStreamKey] = [.tenant(harness.tenant)]
        for session in Set(tasks.map(\.0)) { streams.append(.session(session)) }
        for (session, task) in tasks { streams.append(.task(task, session: session)) }
        for stream in streams {
            let all = numbered.filter { event in
                switch stream {
                case .session(let session): event.session == session
                case .task(let task, _): event.task == task
                case .tenant: true
                }
            }
            let newest = harness.gateway.hub.newestPosition(of: stream)
            #expect(all.allSatisfy { stream.position(of: $0) <= newest })
            #expect(try await harness.gateway.events.firstPosition(of: stream) == 0)
            for position in 0...newest {
                #expect(
                    try await harness.gateway.events.start(of: stream, after: position)
                        == .after(position))
                let rest = try await replay(
                    stream, after: position, through: newest, page: page, in: harness)
                #expect(rest == all.filter { stream.position(of: $0) > position })
            }
        }
    }

    @Test @LoopActor
    func `a reader that joins in the middle hears everything once (R-8)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let other = try await harness.session(.ephemeral)
        let stream = EventStreamKey.tenant(harness.tenant)
        var readers: [(joined: Int64, replayed: [Event], listener: Listener)] = []
        harness.network.onStart = { $0.answer(200, [:], [1]) }
        for round in 0..<20 {
            // Some have committed, some are on their way, when a reader comes.
            for target in [session, other] {
                _ = try await harness.create(try harness.spec(), in: target)
            }
            let listener = Listener()
            let fork = Fork([harness.recorder] + readers.map(\.listener) + [listener])
            harness.gateway.hub.setListener(fork, for: stream)
            let joined = harness.gateway.hub.newestPosition(of: stream)
            if round.isMultiple(of: 2) { await Task.yield() }
            let replayed = try await replay(
                stream, after: 0, through: joined, page: 7, in: harness)
            readers.append((joined, replayed, listener))
        }
        try await eventually("all to end") { harness.gateway.tasks.directory.runners.isEmpty }
        await harness.quiet()
        let all = harness.recorder.events.filter { !$0.body.isProgress }
        for reader in readers {
            // What comes live after the newest position at the join follows what was replayed up to
            // it.
            let live = reader.listener.events.filter { !$0.body.isProgress }
            #expect(reader.replayed.filter { $0.tenantSequence <= reader.joined } + live == all)
        }
    }

    @Test @LoopActor
    func `a position that was never given leads to a reset (R-8)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        _ = try await harness.create(try harness.spec(resume: false), in: session)
        await harness.quiet()
        for stream in [EventStreamKey.session(session), .tenant(harness.tenant)] {
            let newest = harness.gateway.hub.newestPosition(of: stream)
            for position in [newest + 1, -1] {
                #expect(
                    try await harness.gateway.events.start(of: stream, after: position)
                        == .reset(newest: newest, expired: false))
            }
        }
        let empty = try await harness.session()
        #expect(try await harness.gateway.events.start(of: .session(empty), after: 0) == .after(0))
    }

    @Test @LoopActor
    func `a position that is too old leads to a reset, never to a gap (R-8)`() async throws {
        let harness = try await TestGateway.open()
        let tasks = try await play(harness, rounds: 1)
        let old = try #require(tasks.first)
        let stream = EventStreamKey.session(old.0)
        let before = harness.gateway.hub.newestPosition(of: stream)
        let tenantBefore = harness.gateway.hub.newestPosition(of: .tenant(harness.tenant))
        harness.clock.advance(by: .seconds(86_400 + 60))
        let late = try await harness.create(try harness.spec(resume: false), in: old.0)
        await harness.quiet()
        await harness.gateway.housekeeper.makeRound()
        let newest = harness.gateway.hub.newestPosition(of: stream)
        for position in 0..<before {
            #expect(
                try await harness.gateway.events.start(of: stream, after: position)
                    == .reset(newest: newest, expired: true))
        }
        #expect(try await harness.gateway.events.start(of: stream, after: before) == .after(before))
        #expect(
            try await harness.gateway.events.page(of: stream, after: before, limit: 9).map(\.task)
                == [
                    late
                ])
        // The tenant's stream has both stores' events, and is whole only where both are.
        let tenant = EventStreamKey.tenant(harness.tenant)
        let tenantNewest = harness.gateway.hub.newestPosition(of: tenant)
        for position in 0..<tenantBefore {
            #expect(
                try await harness.gateway.events.start(of: tenant, after: position)
                    == .reset(newest: tenantNewest, expired: true))
        }
        #expect(
            try await harness.gateway.events.start(of: tenant, after: tenantBefore)
                == .after(tenantBefore))
        // The stream of a task whose events have gone does not pretend to be whole.
        #expect(
            try await harness.gateway.events.start(of: .task(old.1, session: old.0), after: 1)
                == .reset(newest: newest, expired: true))
    }

    @Test @LoopActor
    func `events of an ephemeral session that is gone are a reset for its tenant's readers (R-8)`()
        async throws
    {
        var limits = GatewayLimits()
        limits.ephemeralGrace = .milliseconds(1)
        let harness = try await TestGateway.open(limits: limits)
        let session = try await harness.session(.ephemeral)
        let kept = try await harness.session()
        _ = try await harness.create(try harness.spec(resume: false), in: kept)
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        await harness.quiet()
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .cancelTasks)
        try await harness.recorder.end(of: session)
        try await harness.recorder.end(of: task)
        try await eventually("it to be gone") { harness.gateway.sessions.directory[session] == nil }
        await harness.quiet()
        let stream = EventStreamKey.tenant(harness.tenant)
        let newest = harness.gateway.hub.newestPosition(of: stream)
        #expect(
            try await harness.gateway.events.start(of: stream, after: 1)
                == .reset(newest: newest, expired: true))
        #expect(try await harness.gateway.events.start(of: stream, after: newest) == .after(newest))
        // Who asks for all there is gets all there is.
        let first = try await harness.gateway.events.firstPosition(of: stream)
        #expect(
            try await harness.gateway.events.page(of: stream, after: first, limit: 9).count == 1)
    }

    @Test @LoopActor
    func `the tenant's numbers grow across a restart, whatever was ephemeral (S-8)`() async throws {
        let harness = try await TestGateway.open()
        _ = try await play(harness, rounds: 2)
        let newest = try #require(
            harness.recorder.events.last { !$0.body.isProgress }?.tenantSequence)
        let next = try await harness.crash()
        await next.gateway.start()
        let session = try #require(next.gateway.sessions.directory.all(of: next.tenant).first)
            .record.id
        _ = try await next.create(try next.spec(resume: false), in: session)
        await next.quiet()
        #expect(try #require(next.recorder.events.first).tenantSequence > newest)
    }

    @Test @LoopActor
    func `another tenant hears nothing (X-13)`() async throws {
        let harness = try await TestGateway.open()
        let stranger = TenantID(rawValue: 2)
        let listener = Listener()
        harness.gateway.hub.setListener(listener, for: .tenant(stranger))
        let tasks = try await play(harness, rounds: 1)
        #expect(listener.events.isEmpty)
        #expect(
            try await harness.gateway.events.page(of: .tenant(stranger), after: 0, limit: 9).isEmpty
        )
        await #expect(throws: GatewayError.noSuchTask) {
            try await harness.gateway.events.stream(of: tasks[0].1, of: stranger)
        }
    }
}

/// One listener that is several.
@LoopActor
private final class Fork: EventListener {
    private let listeners: [any EventListener]
    init(_ listeners: [any EventListener]) { self.listeners = listeners }
    func hear(_ event: Event) { for listener in listeners { listener.hear(event) } }
}
