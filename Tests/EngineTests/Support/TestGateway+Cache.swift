import Loop
import Semantics
import Testing

@testable import Engine

/// Sessions with a cache, and what comes out of it.
extension TestGateway {
    /// A session whose cache has the default capacities.
    func cachingSession(
        _ type: SessionType = .default, delegate: DelegateOptions? = nil,
        _ configure: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> SessionID {
        try await session(type, delegate: delegate) {
            $0.urlCache = CacheCapacity()
            configure(&$0)
        }
    }

    /// Runs a task that the origin answers, and tells the task as it is then.
    func fetch(
        _ spec: TaskSpec, in session: SessionID, answering head: HeaderList = [:],
        _ body: [UInt8] = Array("content".utf8), status: Int = 200
    ) async throws -> TaskRecord {
        let count = network.attempts.count
        let task = try await create(spec, in: session)
        let attempt = try await network.attempt(count)
        attempt.answer(status, head, body)
        return try await finished(task)
    }

    /// Runs a task to its end; what reached the origin is counted.
    func recall(
        _ spec: TaskSpec, in session: SessionID
    ) async throws -> (record: TaskRecord, requests: Int) {
        let count = network.attempts.count
        let record = try await finished(try await create(spec, in: session))
        return (record, network.attempts.count - count)
    }
}

extension TaskRecord {
    /// The gateway's member of `Cache-Status`.
    var cacheStatus: String? { self.response?.headers.values(of: "Cache-Status").last }
    /// Where each transaction's content came from.
    var fetchTypes: [ResourceFetchType] { self.metrics.transactions.map(\.resourceFetchType) }
}
