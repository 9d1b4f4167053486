internal import Contract
internal import Diagnostics
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

extension Service {
    /// How many outstanding tasks a reset shows.
    private static let snapshotLimit = 1000

    func followTenant(_ call: Call) async throws -> Response {
        try await follow(.tenant(call.tenant), call) { false }
    }

    func followSession(_ call: Call) async throws -> Response {
        let id = try await session(of: call)
        return try await follow(.session(id), call) {
            try gateway.sessions.record(id, of: call.tenant).state == .invalid
        }
    }

    func followTask(_ call: Call) async throws -> Response {
        let task = try await gateway.tasks.read(call.task(), of: call.tenant).record
        return try await follow(.task(task.id, session: task.session), call) {
            try await gateway.tasks.read(task.id, of: call.tenant).record.state == .completed
        }
    }

    /// The stream from where the reader is.
    ///
    /// - Parameters:
    ///   - stream: one that exists and that the caller may see.
    ///   - call: says where the reader is, by header or query.
    ///   - isOver: whether the stream's last event has been published by now.
    /// - Returns: 200 with the stream; 204 when it has ended and nothing is left, which stops an
    ///   EventSource.
    /// - Throws: `Problem` for a query that means nothing, `GatewayError` where the store cannot be
    ///   read.
    private func follow(
        _ stream: EventStreamKey, _ call: Call, isOver: @LoopActor () async throws -> Bool
    ) async throws -> Response {
        let permit = try gateway.quotas.openStream(of: call.tenant)
        // The last event of a stream that is over is shown to all, or about to be.
        if try await isOver() { await gateway.events.allShown() }
        var opening: [UInt8] = []
        var after: Int64
        switch try await start(of: stream, call) {
        case .after(let position):
            after = position
        case .reset(let newest, let expired):
            after = newest
            opening = try await reset(stream, at: newest, expired: expired, call)
        }
        let log: EventLog
        // Asked again: it may have ended while the store was asked. Nothing is waited for between a
        // no and the log, which hears what comes from then on.
        let hasEnded = try await isOver()
        if hasEnded { await gateway.events.allShown() }
        let newest = gateway.hub.newestPosition(of: stream)
        if hasEnded {
            let left = try await gateway.events.page(of: stream, after: after, limit: 1)
            if left.isEmpty, opening.isEmpty { return Response(status: 204) }
            log = EventLog(startingAfter: newest)
            log.finish()
        } else {
            log = streams.log(of: stream)
        }
        return Response(
            status: 200, headers: ["Ferry-Last-Event-ID": stream.identifier(of: newest)],
            body: .events(
                EventSubscription(
                    log: log, after: min(after, log.lastPosition),
                    history: streams.history(of: stream, of: call.tenant, permit),
                    opening: opening)))
    }

    private func start(of stream: EventStreamKey, _ call: Call) async throws -> EventStart {
        let replay = call.request.queryValue("replay")
        guard replay == nil || replay == "all" else {
            throw Call.invalid("replay", "must be \"all\"")
        }
        let after = call.request.queryValue("after")
        guard after != "" else { throw Call.invalid("after", "must be the id of an event") }
        let seen = call.request.header("last-event-id").flatMap { $0.isEmpty ? nil : $0 }
        if let given = seen ?? after {
            guard let position = stream.position(of: given) else {
                return .reset(newest: gateway.hub.newestPosition(of: stream), expired: false)
            }
            return try await gateway.events.start(of: stream, after: position)
        }
        return .after(
            replay == nil
                ? gateway.hub.newestPosition(of: stream)
                : try await gateway.events.firstPosition(of: stream))
    }

    /// The event that tells of a gap, with what is outstanding (`Reset` of openapi.yaml); who may
    /// hear events need not be one who may see tasks, and so it has no cookie's value either.
    private func reset(
        _ stream: EventStreamKey, at newest: Int64, expired: Bool, _ call: Call
    ) async throws -> [UInt8] {
        log.write(
            .info, "a reader of events begins anew: what it has seen last is not kept",
            [
                "reason": .name(expired ? "expired" : "unknown"),
                "request": .name(call.request.id),
            ])
        let outstanding = try await gateway.events.outstandingTasks(
            of: stream, of: call.tenant, limit: Service.snapshotLimit)
        let tasks = JSONList("tasks", outstanding.views) { [gateway] view, json in
            view.write(
                to: &json, sharedSession: gateway.sessions.isShared(view.record.session),
                hidesCookieValues: true)
        }
        let data = await JSONList.object(
            [tasks], capacity: 1024 * outstanding.views.count + 64,
            first: {
                $0.member("event", "reset")
                $0.member("reason", expired ? "expired" : "unknown")
            },
            last: { $0.member("truncated", outstanding.next != nil) })
        var bytes: [UInt8] = []
        EncodedEvent.format(
            id: stream.identifier(of: newest), name: "reset", data: data, onto: &bytes)
        return bytes
    }
}
