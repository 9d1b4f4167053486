internal import Glibc
internal import Synchronization

/// Several downloads of one command, some of them side by side, each on a thread and with a client
/// of its own.
public final class DownloadBatch: Sendable {
    /// How one of them ended.
    public typealias Outcome = Result<DownloadReceipt, ClientError>
    /// Told of every end, on a thread of the batch's own.
    public typealias Listener = @Sendable (DownloadOrder, Outcome) -> Void

    private let orders: [DownloadOrder]
    private let source: GatewaySource
    private let finished: FinishedDownloads?
    private let interrupts: Interrupts
    private let board: ProgressBoard
    private let prompt: Prompt?
    private let listener: Listener
    private let names: TakenNames
    private let progress: Mutex<Progress>

    private struct Progress {
        var next = 0
        var outcomes: [Outcome]
    }

    /// A batch that has not begun; with a prompt, what is asked is asked there. What the same
    /// command has brought before is not fetched again.
    public init(
        _ orders: [DownloadOrder], gateway source: GatewaySource,
        finished: FinishedDownloads? = nil,
        interrupts: Interrupts, board: ProgressBoard, prompt: Prompt? = nil,
        listener: @escaping Listener
    ) {
        self.orders = orders
        self.source = source
        self.finished = finished
        self.interrupts = interrupts
        self.board = board
        self.prompt = prompt
        self.listener = listener
        names = TakenNames(of: orders.map(\.url))
        progress = Mutex(
            Progress(outcomes: Array(repeating: .failure(.interrupted), count: orders.count)))
    }

    /// Runs all, at most so many side by side, and gives the outcomes in the order of the orders.
    ///
    /// After an interrupt none begins any more.
    public func run(sideBySide limit: Int) -> [Outcome] {
        let threads = (0..<max(1, min(limit, orders.count))).compactMap { _ in startThread() }
        // Without threads there is still this one.
        if threads.isEmpty { work() }
        for thread in threads { pthread_join(thread, nil) }
        return progress.withLock { $0.outcomes }
    }

    private func startThread() -> pthread_t? {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let failure = pthread_create(&thread, nil, runBatch, context.toOpaque())
        guard failure == 0 else {
            context.release()
            return nil
        }
        return thread
    }

    fileprivate func work() {
        while interrupts.count == 0, let index = takeNext() {
            let order = orders[index]
            let claim = NameClaim(names, index)
            let outcome = download(order, claim)
            claim.settle()
            progress.withLock { $0.outcomes[index] = outcome }
            listener(order, outcome)
        }
    }

    private func takeNext() -> Int? {
        progress.withLock { progress in
            guard progress.next < orders.count else { return nil }
            progress.next += 1
            return progress.next - 1
        }
    }

    private func download(_ order: DownloadOrder, _ claim: NameClaim) -> Outcome {
        let display = ProgressDisplay(on: board)
        do throws(ClientError) {
            if let entry = finished?.entry(for: order) {
                try claim.take(entry.receipt.path)
                display.finish(entry.receipt.sentence)
                if !entry.isComplete { try complete(order, entry.receipt) }
                return .success(entry.receipt)
            }
            let receipt = try fetch(order, claim, display)
            finished?.note(receipt, of: order, isComplete: order.completion == nil)
            try complete(order, receipt)
            return .success(receipt)
        } catch {
            return .failure(error)
        }
    }

    private func complete(
        _ order: DownloadOrder, _ receipt: DownloadReceipt
    ) throws(ClientError) {
        guard let completion = order.completion else { return }
        try completion.run(for: receipt)
        finished?.note(receipt, of: order, isComplete: true)
    }

    /// Downloads a file; where a private gateway is killed meanwhile, with another one.
    private func fetch(
        _ order: DownloadOrder, _ claim: NameClaim, _ display: ProgressDisplay
    ) throws(ClientError) -> DownloadReceipt {
        while true {
            let client = source.client(interrupts)
            do throws(ClientError) {
                return try Download(
                    order, claim: claim, client: client, display: display, prompt: prompt
                ).run()
            } catch {
                guard error.isOfLostGateway, order.mayBeginAnew,
                    try source.replace(client.gateway)
                else { throw error }
                display.resume("the gateway of this command has ended: going on with another one")
            }
        }
    }
}

/// A door from pthread_create.
private func runBatch(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<DownloadBatch>.fromOpaque(context).takeRetainedValue().work()
    return nil
}
