/// The content of a task on its way into a part file.
///
/// It moves while its client takes turns. Of a running task the content follows the transfer; that may
/// end early, and then the whole is there to be asked for once the task has completed.
final class ContentCopy {
    /// How it stands.
    enum Status: Equatable {
        case moving
        /// The answer was whole.
        case whole
        /// It was cut, refused, or has stood still for too long.
        case failed(ClientError)
    }

    private let client: GatewayClient
    private let exchange: HTTPExchange
    private let part: PartFile
    private var lastCount: Int64 = 0
    private var lastMove = ContinuousClock.now

    /// Starts to copy into `part`, which must be empty.
    init(_ client: GatewayClient, task id: String, into part: PartFile) throws(ClientError) {
        self.client = client
        self.part = part
        let request = HTTPExchange.Request(path: RemoteTask.path(id, "/content"))
        exchange = try HTTPExchange(request, to: client.gateway) { part.append($0) }
        client.connections.start(exchange)
    }

    deinit {
        client.connections.stop(exchange)
    }

    /// How it stands now.
    ///
    /// - Throws: `file` when the part could not be written: no second attempt helps.
    func status() throws(ClientError) -> Status {
        if let failure = part.failure { throw failure }
        guard exchange.ending != nil else { return .moving }
        do throws(ClientError) {
            try client.requireWhole(exchange)
            return .whole
        } catch {
            return .failed(error)
        }
    }

    /// For how long no byte has come.
    var stillness: Duration {
        if part.count != lastCount {
            lastCount = part.count
            lastMove = .now
        }
        return lastMove.duration(to: .now)
    }
}
