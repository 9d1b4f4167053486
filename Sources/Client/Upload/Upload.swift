/// Sends a file to a URL through the gateway.
///
/// First the file is staged at the gateway, whatever cuts there are on the way; then an upload task
/// sends it, of the session `shared` or of one of its own, as for a `Download`. The task and the
/// staged file are deleted at the end, whatever the end is.
public final class Upload {
    private let order: UploadOrder
    private let client: GatewayClient
    private let display: ProgressDisplay
    private let delegate: TransferDelegate
    private let session: TransferSession
    private var part: PartFile?
    /// What a gateway that ends without an order to do so still knows of it.
    private var remains: (task: String?, stagedFile: String?)
    /// Whether the host was not found, or refused: then nothing is tried again unasked.
    private var hasNoHost = false

    /// How often a task that a stop of the gateway has ended is replaced by another.
    private static let mostTasks = 5

    /// An upload that has not begun; with a prompt, what is asked is asked there.
    public init(
        _ order: UploadOrder, client: GatewayClient, display: ProgressDisplay,
        prompt: Prompt? = nil
    ) {
        self.order = order
        self.client = client
        self.display = display
        delegate = TransferDelegate(
            order.delegate, url: order.url, client: client, prompt: prompt, display: display)
        session = delegate.session(for: "ferry put")
    }

    /// Does it with the gateway of `source`; where that is private and is killed meanwhile, with
    /// another one from the beginning.
    ///
    /// - Throws: as `run`.
    public static func run(
        _ order: UploadOrder, gateway source: GatewaySource, interrupts: Interrupts,
        display: ProgressDisplay, prompt: Prompt? = nil
    ) throws(ClientError) -> UploadReceipt {
        while true {
            let client = source.client(interrupts)
            let upload = Upload(order, client: client, display: display, prompt: prompt)
            do throws(ClientError) {
                return try upload.run()
            } catch {
                guard error.isOfLostGateway, order.mayBeginAnew,
                    try source.replace(client.gateway)
                else { throw error }
                upload.clear(with: source.client(interrupts))
                display.resume("the gateway of this command has ended: beginning with another one")
            }
        }
    }

    /// Does it, and waits for its end.
    ///
    /// - Throws: `unreadable`, `transferFailed`, `serverAnswered`, `fileExists`, `file`,
    ///   `interrupted`, and what the client throws.
    public func run() throws(ClientError) -> UploadReceipt {
        if let output = order.output {
            part =
                output == "-"
                ? try PartFile(standardOutput: ())
                : try PartFile(
                    output, replacesFile: order.replacesFile,
                    whileWaiting: { () throws(ClientError) in try client.turn(within: .zero) })
        }
        defer { part?.discard() }
        let source = try UploadSource(order.file) { () throws(ClientError) in
            try client.turn(within: .zero)
        }
        let staging = Staging(client, source, display: display)
        var keepsStagedFile = false
        defer {
            session.end(leavingTask: false)
            if !keepsStagedFile { staging.discard() }
        }
        do throws(ClientError) {
            let id = try staging.run { [self] in remains.stagedFile = $0 }
            keepsStagedFile = order.keepsStagedFile
            if keepsStagedFile { display.note("the staged file is \(id)") }
            return try send(id, length: staging.offset, of: source)
        } catch {
            display.finish()
            throw delegate.explained(error)
        }
    }

    /// Takes away what another gateway on the same data knows of it.
    private func clear(with client: GatewayClient) {
        if let task = remains.task { client.abandon(task) }
        if let file = remains.stagedFile {
            _ = try? client.send("DELETE", Staging.path(file), seconds: 5)
        }
    }

    // MARK: The task

    private func send(
        _ stagedFile: String, length: Int64, of source: UploadSource
    ) throws(ClientError) -> UploadReceipt {
        var tasks = 0
        while true {
            let feed = try client.start(
                order.json(stagedFile: stagedFile, retries: !hasNoHost), in: session,
                report: order.report)
            remains.task = feed.id
            tasks += 1
            do throws(ClientError) {
                try follow(feed, length: length, name: source.shortName)
                return try collect(feed, stagedFile, length: length, name: source.name)
            } catch {
                let isWithoutHost = feed.progress.ending == nil && hasNoHost
                client.abandon(feed)
                if isWithoutHost { continue }
                guard case .transferFailed(let failure) = error, failure.isOfStoppedGateway,
                    order.isIdempotent, tasks < Upload.mostTasks
                else { throw error }
                display.note("the gateway was stopped; sending again")
            }
        }
    }

    private func follow(
        _ feed: TaskFeed, length: Int64, name: String
    ) throws(ClientError) {
        while feed.progress.ending == nil {
            try feed.turn()
            try delegate.serve(feed)
            if order.options.retry == .usual, feed.progress.lacksHost {
                hasNoHost = true
                throw feed.progress.withoutHost
            }
            let progress = feed.progress
            let isSent = progress.sent >= length && feed.note == nil
            display.update(
                name: "sending \(name)", received: progress.sent, total: length,
                note: isSent ? "waiting for the answer" : feed.note)
        }
        if case .failed(let failure) = feed.progress.ending { throw .transferFailed(failure) }
    }

    private func collect(
        _ feed: TaskFeed, _ stagedFile: String, length: Int64, name: String
    ) throws(ClientError) -> UploadReceipt {
        let task = try feed.refresh()
        if let part {
            let delivery = ContentDelivery(client, task: feed.id, into: part)
            let length = task.contentLength ?? 0
            try delivery.complete(length: length) {
                display.update(name: "answer", received: delivery.count, total: length)
            }
            try part.commit()
        }
        let status = task.responseStatus ?? 0
        // The server's words about it are in the file by now.
        guard status < 400, !(delegate.hasStoppedRedirect && (300...399).contains(status)) else {
            throw .serverAnswered(status: status)
        }
        let receipt = UploadReceipt(
            task: feed.id, url: task.url, file: name,
            stagedFile: order.keepsStagedFile ? stagedFile : nil, status: status, length: length,
            answerPath: part?.path, elapsed: display.elapsed)
        display.finish(receipt.sentence)
        feed.close()
        client.forget(feed.id)
        return receipt
    }
}
