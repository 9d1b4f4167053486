internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// The cache of a session (S-24), and what is done to all its stores at once (S-12, S-13).
extension Service {
    /// How full it is; with `url`, also what it has for that.
    func showCache(_ call: Call) async throws -> Response {
        let session = try await sessionRecord(of: call)
        let url = try call.filters["url"].map { text throws(Problem) in
            do throws(URLRejection) {
                return try parse(text)
            } catch {
                throw Problem(error, at: nil).with(parameter: "url")
            }
        }
        let usage = try await gateway.memory.cacheUsage(in: session.id, of: call.tenant)
        let capacity = session.configuration.urlCache
        guard let url else {
            return .json { $0.object { usage.writeMembers(to: &$0, of: capacity) } }
        }
        let responses = try await gateway.memory.cachedResponses(
            to: url, in: session.id, of: call.tenant)
        return await .lists(
            JSONList("responses", responses) { entry, json in entry.write(to: &json) },
            first: { usage.writeMembers(to: &$0, of: capacity) })
    }

    func emptyCache(_ call: Call) async throws -> Response {
        let session = try await session(of: call)
        try await gateway.memory.emptyCache(in: session, of: call.tenant)
        return Response(status: 204)
    }

    /// S-12.
    func resetSession(_ call: Call) async throws -> Response {
        let session = try await sessionRecord(of: call)
        try await gateway.sessions.reset(session.id, of: call.tenant)
        return Response(status: 204)
    }

    /// S-13.
    func flushSession(_ call: Call) async throws -> Response {
        let session = try await sessionRecord(of: call)
        try await gateway.sessions.flush(session.id, of: call.tenant)
        return Response(status: 204)
    }

    /// The session that the path names, as it is now: before anything else of the request is looked
    /// at.
    func sessionRecord(of call: Call) async throws -> SessionRecord {
        try await gateway.sessions.record(session(of: call), of: call.tenant)
    }
}

extension Call {
    /// The parameters of the query by their names, all of which the route has declared.
    var filters: [String: String] {
        Dictionary(request.query.map { ($0.name, $0.value) }) { first, _ in first }
    }
}
