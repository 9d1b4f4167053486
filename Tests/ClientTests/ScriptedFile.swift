import Synchronization
import TestSupport

/// The staged file of a fake gateway, with the cuts that its test wants.
final class ScriptedFile: Sendable {
    /// What happens to one PATCH.
    enum Fate: Sendable {
        /// It is taken.
        case taken
        /// The connection is cut when so many bytes of it have come; so many of those are lost.
        case cut(after: Int, losing: Int = 0)
        /// All of it is taken, but the answer does not come.
        case unanswered
        /// It is refused before its body is read.
        case refused(Int, String)
        /// The body is read up to there, and the rest when the gate opens; without one, never.
        case stalled(after: Int, until: Gate? = nil)
    }

    struct State: Sendable {
        var bytes: [UInt8] = []
        var isComplete = false
        var isDeleted = false
        var announced: String?
        /// Of the next requests, in their order; later ones are taken.
        var fates: [Fate] = []
    }

    static let path = "/v1/files/fil_1"
    private let state = Mutex(State())

    /// What the gateway has.
    var bytes: [UInt8] { state.withLock(\.bytes) }
    /// Whether the last PATCH said that nothing follows.
    var isComplete: Bool { state.withLock(\.isComplete) }
    /// Whether it was deleted.
    var isDeleted: Bool { state.withLock(\.isDeleted) }
    /// The length that was announced.
    var announced: String? { state.withLock(\.announced) }

    /// Says what happens to the next requests.
    func script(_ fates: [Fate]) {
        state.withLock { $0.fates = fates }
    }

    func serve(on origin: ScriptedOrigin) {
        origin.on("/v1/files") { [weak self] exchange in
            self?.state.withLock { $0.announced = exchange.request.headers["Upload-Length"] }
            try exchange.answer(
                201, ["Location": Self.path], #"{"id":"fil_1","length":0,"complete":false}"#)
        }
        origin.on(Self.path) { [weak self] exchange in try self?.answer(exchange) }
    }

    /// Answers a request for the file.
    func answer(_ exchange: Exchange) throws {
        switch exchange.request.method {
        case "PATCH": try append(exchange)
        case "HEAD": try exchange.answer(200, fields)
        case "DELETE":
            state.withLock { $0.isDeleted = true }
            try exchange.answer(204)
        default: try exchange.answer(405)
        }
    }

    private var fields: HeaderLines {
        state.withLock {
            ["Upload-Offset": "\($0.bytes.count)", "Upload-Complete": $0.isComplete ? "?1" : "?0"]
        }
    }

    private func append(_ exchange: Exchange) throws {
        let headers = exchange.request.headers
        let fate = state.withLock { $0.fates.isEmpty ? .taken : $0.fates.removeFirst() }
        if case .refused(let status, let code) = fate {
            return try exchange.answer(status, [:], #"{"status":\#(status),"code":"\#(code)"}"#)
        }
        guard headers["Upload-Offset"] == fields["Upload-Offset"],
            headers["Content-Type"] == "application/partial-upload"
        else { return try exchange.answer(409, fields, #"{"code":"wrong-offset"}"#) }
        switch fate {
        case .stalled(let count, let gate):
            try take(count, from: exchange)
            try exchange.stall(until: gate)
        case .cut(let count, let lost):
            try take(count, from: exchange)
            state.withLock { $0.bytes.removeLast(min(lost, $0.bytes.count)) }
            return exchange.reset()
        default: break
        }
        try take(.max, from: exchange)
        state.withLock { $0.isComplete = headers["Upload-Complete"] == "?1" }
        if case .unanswered = fate { return exchange.reset() }
        try exchange.answer(204, fields)
    }

    /// Takes at most so many bytes of the body.
    private func take(_ limit: Int, from exchange: Exchange) throws {
        var taken = 0
        while taken < limit {
            let piece = try exchange.readBody(upTo: min(65536, limit - taken))
            if piece.isEmpty { return }
            state.withLock { $0.bytes += piece }
            taken += piece.count
        }
    }
}
