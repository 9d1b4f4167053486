internal import JSON

/// The session that the tasks of a command belong to: one that is there, such as `shared`, which
/// asks nothing (S-4), or one of the command's own, made when it is needed first and ended with the
/// command.
final class TransferSession {
    private let client: GatewayClient
    private let origin: Origin
    /// The session that was made; nil for none yet, and for one that was there.
    private(set) var own: String?
    /// Sessions of earlier commands, whose tasks this one has taken up.
    private var adopted: [String] = []

    private enum Origin {
        case named(String)
        /// The body of `POST /v1/sessions`.
        case order([UInt8])
    }

    /// A session that is there, and stays.
    init(_ client: GatewayClient, named id: String) {
        self.client = client
        origin = .named(id)
    }

    /// A session of its own; `order` is the body of `POST /v1/sessions`.
    init(_ client: GatewayClient, order: [UInt8]) {
        self.client = client
        origin = .order(order)
    }

    /// The session to create tasks in.
    ///
    /// - Throws: as `GatewayClient.create`.
    func identifier() throws(ClientError) -> String {
        if let own { return own }
        let order: [UInt8]
        switch origin {
        case .named(let id): return id
        case .order(let body): order = body
        }
        guard let id = try client.create("/v1/sessions", json: order)["id"]?.string else {
            throw .unexpectedAnswer("a session without an id")
        }
        own = id
        return id
    }

    /// Takes over the session of a task that an earlier command has left.
    func adopt(_ id: String) {
        adopted.append(id)
    }

    /// Ends what is not the user's (S-9, S-10), as far as the gateway can be reached; a task that
    /// is left for another command goes on.
    func end(leavingTask: Bool) {
        let mode = leavingTask ? "finishTasks" : "cancelTasks"
        for id in adopted + [own].compactMap({ $0 }) {
            client.heedInterrupts()
            let path = "/v1/sessions/\(PathText.escaped(id))/invalidate"
            let body = Array("{\"mode\":\"\(mode)\"}".utf8)
            do throws(ClientError) {
                try client.send("POST", path, json: body, seconds: 5)
            } catch {
                // An active session without tasks costs the gateway a row; how the transfer ended
                // is what the user has to see.
            }
        }
        adopted = []
        own = nil
    }
}
