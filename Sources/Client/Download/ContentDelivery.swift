/// Brings the content of one task into a part file: along with the transfer, and what is missing
/// once the task has completed.
final class ContentDelivery {
    private let client: GatewayClient
    private let id: String
    private let part: PartFile
    private var copy: ContentCopy?
    private var mayFollow = true
    /// Whether what the part has is the beginning of the content.
    private var hasBeginning = true

    /// A delivery; what the part has must be the beginning of the content.
    init(_ client: GatewayClient, task id: String, into part: PartFile) {
        self.client = client
        self.id = id
        self.part = part
    }

    /// Bytes of the content in the part.
    var count: Int64 { hasBeginning ? part.count : 0 }

    /// Whether bytes are on their way.
    var isMoving: Bool { copy != nil }

    /// Lets the part follow the running transfer, from the response on.
    ///
    /// - Throws: `file`.
    func follow() throws(ClientError) {
        if case .failed = try copy?.status() { mayFollow = false }
        guard mayFollow else { return stop() }
        guard copy == nil else { return }
        // What standard output has got is the beginning of the content; the rest follows its end.
        guard !part.isStream || part.count == 0 else { return mayFollow = false }
        try part.restart()
        copy = try ContentCopy(client, task: id, into: part)
    }

    /// There was a second response: what the part has belongs to the first.
    func beginAnew() {
        stop()
        mayFollow = false
        hasBeginning = false
    }

    /// Ends what moves.
    func stop() {
        copy = nil
    }

    /// Completes the part with the content, of `length` bytes, of a task that has completed; `each`
    /// is called after every turn.
    ///
    /// A cut content is gone on with where it was cut.
    /// - Throws: `unreachable`, `refused`, `unexpectedAnswer`, `file`, and what `each` throws.
    func complete(
        length: Int64, each: () throws(ClientError) -> Void
    ) throws(ClientError) {
        defer { stop() }
        guard length > 0 else {
            // No content, as after a 204, is an empty file; to ask for it would be refused.
            stop()
            return try part.restart()
        }
        if !mayFollow { stop() }
        var failures = 0
        var furthest: Int64 = 0
        while true {
            let failure: ClientError
            switch try status() {
            case nil where hasBeginning && part.count == length: return
            case nil:
                if !hasBeginning || part.count > length { try part.restart() }
                hasBeginning = true
                copy = try ContentCopy(client, task: id, into: part)
                continue
            case .moving?:
                try client.turn()
                try each()
                continue
            case .whole? where part.count == length: return
            case .whole?:
                failure = .unexpectedAnswer("\(part.count) bytes of a content of \(length)")
            case .failed(let error)?: failure = error
            }
            stop()
            // A cut leaves what has come; an answer that makes no sense leaves nothing to go on
            // with.
            hasBeginning = failure.isPassing
            if part.count > furthest { failures = 0 }
            furthest = max(furthest, part.count)
            failures += 1
            guard failures < (failure.isPassing ? client.persistence.tries : 3),
                !client.isGatewayGone()
            else {
                throw failure
            }
            try client.pause(for: client.persistence.pause(after: failures))
        }
    }

    /// How the copy stands; nil when there is none.
    private func status() throws(ClientError) -> ContentCopy.Status? {
        guard let copy else { return nil }
        guard copy.stillness < client.persistence.silence else {
            return .failed(
                .unreachable(
                    gateway: client.gateway.name, detail: "the content stands still")
            )
        }
        return try copy.status()
    }
}
