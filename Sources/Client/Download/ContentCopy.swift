/// The content of a task on its way into a part file.
///
/// It moves while its client takes turns. Of a running task the content follows the transfer; that
/// may end early, and then the rest is there to be asked for once the task has completed.
final class ContentCopy {
    /// How it stands.
    enum Status: Equatable {
        case moving
        /// The answer was whole.
        case whole
        /// It was cut, refused, or is not what was asked for.
        case failed(ClientError)
    }

    private let client: GatewayClient
    private let exchange: HTTPExchange
    private let intake: Intake
    private var lastCount: Int64 = 0
    private var lastMove = ContinuousClock.now

    /// What comes, and where it goes.
    private final class Intake {
        let part: PartFile
        let offset: Int64
        weak var exchange: HTTPExchange?
        private var hasBegun = false
        /// Why the answer is of no use.
        private(set) var failure: ClientError?

        init(_ part: PartFile) {
            self.part = part
            offset = part.count
        }

        func take(_ piece: UnsafeRawBufferPointer) -> Bool {
            guard hasBegun || begin() else { return false }
            return part.append(piece)
        }

        /// Looks at the head: a gateway may ignore the range and send all (RFC 9110 §14.2).
        private func begin() -> Bool {
            hasBegun = true
            guard offset > 0, let exchange else { return true }
            do throws(ClientError) {
                if exchange.status == 206 {
                    let range = exchange.header("Content-Range") ?? "none"
                    guard range.hasPrefix("bytes \(offset)-") else {
                        throw .unexpectedAnswer(
                            "a range from \(offset) on was answered by \(range)")
                    }
                } else {
                    try part.restart()
                }
            } catch {
                failure = error
            }
            return failure == nil
        }
    }

    /// Starts to copy into `part`, behind what it has.
    ///
    /// The content of a task that has completed never changes (rule S-60), so that a range needs no
    /// condition; of one that runs the part must be empty.
    init(_ client: GatewayClient, task id: String, into part: PartFile) throws(ClientError) {
        self.client = client
        let intake = Intake(part)
        self.intake = intake
        var request = HTTPExchange.Request(path: RemoteTask.path(id, "/content"))
        if part.count > 0 { request.headers = [("Range", "bytes=\(part.count)-")] }
        exchange = try HTTPExchange(request, to: client.gateway) { intake.take($0) }
        intake.exchange = exchange
        client.connections.start(exchange)
    }

    deinit {
        client.connections.stop(exchange)
    }

    /// How it stands now.
    ///
    /// - Throws: `file` when the part could not be written: no second attempt helps.
    func status() throws(ClientError) -> Status {
        if let failure = intake.part.failure { throw failure }
        if let failure = intake.failure { return .failed(failure) }
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
        if intake.part.count != lastCount {
            lastCount = intake.part.count
            lastMove = .now
        }
        return lastMove.duration(to: .now)
    }
}
