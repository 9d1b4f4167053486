@testable import HTTP
import Loop
import TestSupport
import Testing

/// A client of HTTP/2 and the server that it calls.
struct OutgoingCaller: Sendable {
    let client: HTTPClient
    let origin: ServerOrigin

    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
    }

    struct NoOrigin: Error {}

    init(
        _ address: String, _ limits: ClientLimits = ClientLimits(), trusting path: String? = nil
    ) async throws {
        LoopActor.loop.start()
        guard let origin = ServerOrigin(address) else { throw NoOrigin() }
        self.origin = origin
        client = await HTTPClient(limits: limits, trustedCertificates: path)
    }

    init(_ endpoint: Endpoint, _ limits: ClientLimits = ClientLimits()) async throws {
        try await self.init("http://\(endpoint)", limits)
    }

    func get(_ path: String, _ fields: [(StaticString, String)] = []) async throws -> Answer {
        try await begin("GET", path, fields).answer()
    }

    /// Sends a body: all at once, or in pieces as there is room.
    func post(_ path: String, _ body: [UInt8], isPulled: Bool) async throws -> Answer {
        let exchange = await begin("POST", path, body: isPulled ? nil : body)
        if isPulled { await exchange.send(body) }
        return try await exchange.answer()
    }

    /// Why a request has no answer.
    func failure(of path: String) async throws -> OutgoingStream.Failure {
        do {
            _ = try await get(path)
            throw NoFailure()
        } catch let failure as OutgoingStream.Failure {
            return failure
        }
    }

    struct NoFailure: Error {}

    /// A request has no answer, and may have been begun or not.
    func expectFailure(mayHaveBegun: Bool) async throws {
        let failure = try await failure(of: "/a")
        #expect(failure.mayHaveBegun == mayHaveBegun, "\(failure.words)")
    }

    /// Begins a request, and takes its answer unless told not to.
    @LoopActor
    func begin(
        _ method: String, _ path: String, _ added: [(StaticString, String)] = [],
        body: [UInt8]? = [], takes: Bool = true
    ) -> OutgoingExchange {
        let fields = Array(method.utf8).withUnsafeBytes { method in
            Array(path.utf8).withUnsafeBytes { HTTP2Fields(method: method, target: $0, to: origin) }
        }
        var request = OutgoingRequest(fields, body: body, length: body.map { Int64($0.count) })
        for (name, value) in added { request.add(name, value) }
        let exchange = OutgoingExchange(takes: takes)
        exchange.stream = client.send(request, to: origin, observer: exchange)
        return exchange
    }
}

/// A request of a `OutgoingCaller`'s.
@LoopActor
final class OutgoingExchange: OutgoingObserver {
    fileprivate var stream: OutgoingStream?
    private let takes: Bool
    private var bytes: [UInt8] = []
    private var unsent: ArraySlice<UInt8>?

    init(takes: Bool) { self.takes = takes }

    func exchangeHasMoved() {
        guard let stream else { return }
        sendMore()
        if takes { bytes += stream.take(.max) }
    }

    /// Sends a body, 10,000 bytes at a time while there is room.
    func send(_ body: [UInt8]) {
        unsent = body[...]
        sendMore()
    }

    private func sendMore() {
        guard let stream, stream.hasBegun, var rest = unsent else { return }
        while stream.hasRoom, !rest.isEmpty {
            stream.send(Array(rest.prefix(10_000)))
            rest = rest.dropFirst(10_000)
        }
        unsent = rest.isEmpty ? nil : rest
        if rest.isEmpty { stream.endBody() }
    }

    func cancel() { stream?.cancel() }

    /// Whether the server may have begun with the request, or its body is asked for.
    var mayHaveBegun: Bool { stream.map { $0.hasBegun || $0.mayHaveBegun } ?? false }

    /// The whole answer.
    ///
    /// - Throws: `OutgoingStream.Failure`, `DeadlinePassed`.
    func answer() async throws -> OutgoingCaller.Answer {
        try await eventually("the answer") {
            guard let stream else { return false }
            return stream.failure != nil || stream.isOver
        }
        if let failure = stream?.failure { throw failure }
        return OutgoingCaller.Answer(status: stream?.head?.status ?? 0, body: bytes)
    }
}
