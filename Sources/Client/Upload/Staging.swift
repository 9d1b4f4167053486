internal import JSON

/// Brings a file into the gateway's care, from where a task sends it (api: Staged files).
///
/// The fields are those of the IETF's resumable uploads: after a cut the gateway is asked how much
/// it has, and the rest follows.
final class Staging {
    /// The staged file; nil before the gateway has named it.
    private(set) var id: String?
    /// Bytes that the gateway has, as far as it has told.
    private(set) var offset: Int64 = 0
    private let client: GatewayClient
    private let source: UploadSource
    private let display: ProgressDisplay
    private var isComplete = false
    /// Failures in a row, without any progress.
    private var failures = 0
    private var furthest: Int64 = 0

    /// A staging that has not begun.
    init(_ client: GatewayClient, _ source: UploadSource, display: ProgressDisplay) {
        self.client = client
        self.source = source
        self.display = display
    }

    /// Brings it all there. Afterwards `offset` is its length.
    ///
    /// `note` is told the id of the staged file as soon as there is one.
    /// - Returns: that id.
    /// - Throws: `unreadable`, `interrupted`, `refused`, and `unreachable` when the gateway stays
    ///   away.
    func run(_ note: (String) -> Void = { _ in }) throws(ClientError) -> String {
        let length = source.length.map { [(name: "Upload-Length", value: String($0))] } ?? []
        let answer = try client.create("/v1/files", headers: length)
        guard let id = answer["id"]?.string else {
            throw .unexpectedAnswer("a staged file without an id")
        }
        self.id = id
        note(id)
        while !isComplete {
            let piece = try source.piece(at: offset) { () throws(ClientError) in
                try client.turn(within: .zero)
                show(offset)
            }
            guard let failure = try send(piece, to: id) else { continue }
            try recover(from: failure, id)
        }
        try source.requireUnchanged()
        return id
    }

    /// Takes the staged file away again, as far as the gateway can be reached; its time to live
    /// does it else.
    func discard() {
        guard let id else { return }
        client.heedInterrupts()
        _ = try? client.send("DELETE", Staging.path(id), seconds: 5)
    }

    static func path(_ id: String) -> String { "/v1/files/\(PathText.escaped(id))" }

    // MARK: One piece

    /// Sends a piece and notes what the gateway has of it.
    ///
    /// - Returns: what went wrong in a way that may pass.
    private func send(
        _ piece: UploadSource.Piece, to id: String
    ) throws(ClientError) -> ClientError? {
        // A file that has changed is not completed.
        if piece.isLast { try source.requireUnchanged() }
        var position = piece.start
        var lastMove = (position: position, at: ContinuousClock.now)
        var request = HTTPExchange.Request(method: "PATCH", path: Staging.path(id))
        request.headers = [
            ("Upload-Offset", String(piece.start)),
            ("Upload-Complete", piece.isLast ? "?1" : "?0"),
            ("Content-Type", "application/partial-upload"),
        ]
        request.stream = HTTPExchange.BodyStream(length: piece.end - piece.start) { [source] room in
            guard let count = source.read(at: position, upTo: piece.end, into: room) else {
                return nil
            }
            position += Int64(count)
            return count
        }
        let exchange = try HTTPExchange(request, to: client.gateway) { _ in true }
        var isStill = false
        do throws(ClientError) {
            try client.finish(exchange) { () throws(ClientError) in
                show(position)
                if position != lastMove.position { lastMove = (position, .now) }
                isStill = lastMove.at.duration(to: .now) > client.persistence.silence
                if isStill {
                    throw .unreachable(gateway: gateway, detail: "the upload stands still")
                }
            }
        } catch {
            guard isStill else { throw error }
            return error
        }
        if let failure = source.failure { throw failure }
        return try look(at: exchange, of: piece)
    }

    private var gateway: String { client.gateway.name }

    private func look(
        at exchange: HTTPExchange, of piece: UploadSource.Piece
    ) throws(ClientError) -> ClientError? {
        let told = StructuredField.integer(exchange.header("Upload-Offset"))
        do throws(ClientError) {
            try client.requireWhole(exchange)
        } catch {
            if case .refused(let problem) = error, problem.status == 409 {
                // The gateway has another offset, or is not done with a request that was cut.
                if let told { try note(told) }
                return error
            }
            guard error.isPassing else { throw error }
            return error
        }
        guard let told else { throw .unexpectedAnswer("a PATCH without Upload-Offset") }
        guard told <= piece.end else {
            throw .unexpectedAnswer("\(told) bytes of \(piece.end) sent")
        }
        try note(told)
        isComplete = piece.isLast && told == piece.end
        guard !isComplete, told <= piece.start, piece.end > piece.start else { return nil }
        return .unexpectedAnswer("a PATCH that changed nothing")
    }

    /// Takes over what the gateway has.
    private func note(_ told: Int64) throws(ClientError) {
        guard told >= 0, told <= source.length ?? .max else {
            throw .unexpectedAnswer("\(told) bytes of a file of \(source.length ?? 0)")
        }
        offset = told
        if told > furthest { failures = 0 }
        furthest = max(furthest, told)
    }

    // MARK: After a cut

    /// Waits, and asks how much the gateway has, until it tells or has failed too often.
    ///
    /// - Throws: `failure`, or a later one, when that was one too many.
    private func recover(from failure: ClientError, _ id: String) throws(ClientError) {
        var failure = failure
        while true {
            failures += 1
            guard failures < client.persistence.tries, !client.isGatewayGone() else {
                throw failure
            }
            show(offset, note: "waiting for the gateway")
            try client.pause(for: client.persistence.pause(after: failures))
            let request = HTTPExchange.Request(
                method: "HEAD", path: Staging.path(id), timeLimit: 30)
            let exchange = try HTTPExchange(request, to: client.gateway) { _ in true }
            try client.finish(exchange)
            do throws(ClientError) {
                try client.requireWhole(exchange)
                guard let told = StructuredField.integer(exchange.header("Upload-Offset")) else {
                    throw .unexpectedAnswer("a staged file without Upload-Offset")
                }
                try note(told)
                isComplete = StructuredField.boolean(exchange.header("Upload-Complete")) ?? false
                return try requireSame(told)
            } catch {
                guard error.isPassing else { throw error }
                failure = error
            }
        }
    }

    /// What is complete must be all there is.
    private func requireSame(_ told: Int64) throws(ClientError) {
        guard isComplete else { return }
        let piece = try source.piece(at: told) { () throws(ClientError) in
            try client.turn(within: .zero)
        }
        guard piece.isLast, piece.end == told else {
            throw .unexpectedAnswer("a staged file that was completed at byte \(told)")
        }
    }

    private func show(_ position: Int64, note: String? = nil) {
        display.update(
            name: "staging \(source.shortName)", received: position, total: source.length ?? -1,
            note: note)
    }
}
