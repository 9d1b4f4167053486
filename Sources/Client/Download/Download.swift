/// Fetches a URL through the gateway into a file.
///
/// A download task does the work, of the session `shared`; or, where somebody can be asked or has
/// said something in advance, of a session of its own, whose questions it answers. As soon as there
/// is a response the file follows the transfer, so that it is complete hardly later than the
/// gateway's own copy; where that is cut or refused, what is missing is fetched once the task has
/// completed. Either way the file gets its name only after the task has succeeded and the length is
/// right.
///
/// A download that ends early leaves a `ResumeFile` wherever another one can go on; this one
/// begins with what an earlier one has left. The task is deleted at the end, unless another
/// download goes on with it.
public final class Download {
    let order: DownloadOrder
    let client: GatewayClient
    let display: ProgressDisplay
    let delegate: TransferDelegate
    /// What says that no other download of the command has its name; nil where there is no other.
    private let claim: NameClaim?
    private let session: TransferSession
    var target: DownloadTarget?
    var delivery: ContentDelivery?
    /// How the present task was begun.
    private(set) var beginning = Beginning.anew
    private var hasToldOfBeginning = false
    /// Resumptions in a row that brought nothing new, and how far the download was at the last.
    private var vainResumptions = 0
    private var furthest: Int64 = 0
    /// How much there was before this command fetched a byte.
    private var firstBase: Int64?
    /// How much of what a task brings was there before it.
    private var base: Int64 = 0
    /// Whether the host was not found, or refused: then nothing is tried again unasked.
    private(set) var hasNoHost = false

    /// What a task begins with.
    enum Beginning: Equatable {
        case anew
        case resumeData(String)
        /// It runs, or has completed, already.
        case task(String)
    }

    /// How often a download that a stop of the gateway has ended is resumed without anything new.
    private static let mostVainResumptions = 5

    /// A download that has not begun; with a prompt, what is asked is asked there.
    public convenience init(
        _ order: DownloadOrder, client: GatewayClient, display: ProgressDisplay,
        prompt: Prompt? = nil
    ) {
        self.init(order, claim: nil, client: client, display: display, prompt: prompt)
    }

    /// One of several of a command, which take their names by claims.
    init(
        _ order: DownloadOrder, claim: NameClaim?, client: GatewayClient,
        display: ProgressDisplay, prompt: Prompt? = nil
    ) {
        self.order = order
        self.claim = claim
        self.client = client
        self.display = display
        delegate = TransferDelegate(
            order.delegate, url: order.url, client: client, prompt: prompt, display: display)
        session = delegate.session(for: "ferry get")
    }

    /// Does it, and waits for its end.
    ///
    /// - Throws: `transferFailed`, `serverAnswered`, `fileExists`, `file`, `interrupted`, and what
    ///   the client throws. No file and no task is left then, but where the error is `resumable`.
    public func run() throws(ClientError) -> DownloadReceipt {
        defer {
            delivery = nil
            session.end(leavingTask: target?.point?.task != nil)
            target?.close()
        }
        do throws(ClientError) {
            var beginning = try openTarget()
            while true {
                let feed = try begin(beginning)
                do throws(ClientError) {
                    return try finish(feed)
                } catch {
                    delivery?.stop()
                    beginning = try resumption(of: feed, after: error)
                    delivery = nil
                }
            }
        } catch {
            display.finish()
            let told = delegate.explained(error)
            throw target?.point == nil ? told : .resumable(told)
        }
    }

    private func finish(_ feed: TaskFeed) throws(ClientError) -> DownloadReceipt {
        defer { feed.close() }
        try target?.isTakenUp(by: feed.id, of: feed.session)
        try follow(feed)
        let receipt = try collect(feed)
        display.finish(receipt.sentence)
        client.forget(feed.id)
        return receipt
    }

    // MARK: The beginning

    /// Opens the target, if its name is known, and tells what an earlier command has left there.
    private func openTarget() throws(ClientError) -> Beginning {
        if order.output == "-" {
            target = try DownloadTarget(standardOutputFor: order.url)
            return .anew
        }
        var path = order.output
        if path.map(PartFile.isFolder) ?? true {
            path = order.continues ? ResumeFile.target(of: order.url, in: path ?? ".") : nil
            if let found = path, !order.replacesFile, PartFile.exists(found) { path = nil }
        }
        guard let path else { return .anew }
        let target = try openTarget(path)
        if let complaint = target.complaint { display.note("starting over: \(complaint)") }
        if let task = target.point?.task { return .task(task) }
        return target.point?.resumeData.map(Beginning.resumeData) ?? .anew
    }

    private func openTarget(_ path: String) throws(ClientError) -> DownloadTarget {
        while claim?.isTurn == false { try client.turn(within: .milliseconds(100)) }
        try claim?.take(path)
        let target = try DownloadTarget(
            path, url: order.url, replacesFile: order.replacesFile, continues: order.continues
        ) { () throws(ClientError) in try client.turn(within: .zero) }
        self.target = target
        return target
    }

    private func begin(_ beginning: Beginning) throws(ClientError) -> TaskFeed {
        self.beginning = beginning
        hasToldOfBeginning = false
        base = 0
        switch beginning {
        case .anew:
            return try client.start(
                order.json(retries: !hasNoHost), in: session, report: order.report)
        case .task(let id): return try takeUp(id)
        case .resumeData(let data):
            do throws(ClientError) {
                return try client.start(
                    order.json(resumeData: data), in: session, report: order.report)
            } catch {
                guard case .refused(let problem) = error, problem.refusesResumeData else {
                    throw error
                }
                try startOver("the gateway cannot resume: \(problem)")
                return try begin(.anew)
            }
        }
    }

    /// Goes on with a task that an earlier command had to leave.
    private func takeUp(_ id: String) throws(ClientError) -> TaskFeed {
        let made = target?.point?.session
        if let made { session.adopt(made) }
        var task: RemoteTask
        do throws(ClientError) {
            task = try client.task(id)
            // One of a gateway that was private to a command that was killed.
            if task.state == "suspended" { task = try TaskQueue(client).resume(id) }
        } catch {
            guard case .refused(let problem) = error, problem.status == 404 else { throw error }
            if let data = target?.point?.resumeData { return try begin(.resumeData(data)) }
            try startOver("this gateway does not know the transfer")
            return try begin(.anew)
        }
        guard let failure = task.failure else {
            display.note("going on with \(id)")
            base = task.isCompleted ? target?.part.count ?? 0 : task.received
            return try TaskFeed(client, task, of: made, report: order.report)
        }
        client.forget(id)
        if let data = failure.resumeData { return try begin(.resumeData(data)) }
        try startOver(failure.description)
        return try begin(.anew)
    }

    /// Forgets what an earlier command has left.
    func startOver(_ why: String) throws(ClientError) {
        display.note("starting over: \(why)")
        firstBase = 0
        try target?.forget()
    }

    /// Whether a download that was resumed may be resumed once more.
    func mayResume(_ progress: TaskProgress) -> Bool {
        if progress.received > furthest { vainResumptions = 0 }
        furthest = max(furthest, progress.received)
        vainResumptions += 1
        return vainResumptions <= Download.mostVainResumptions
    }

    // MARK: The transfer

    private func follow(_ feed: TaskFeed) throws(ClientError) {
        while feed.progress.ending == nil {
            try feed.turn()
            try delegate.serve(feed, mustStay: beginning != .anew)
            tellOfBeginning(feed.progress)
            try requireHost(feed.progress)
            try copyAlong(feed)
            show(feed)
        }
        guard case .failed(let failure) = feed.progress.ending else { return }
        // An event may be shorter than the task's own error.
        let full = failure.resumeData == nil ? try feed.refresh().failure ?? failure : failure
        throw .transferFailed(full)
    }

    /// A name that nobody knows, and a port that nobody listens at, are mistyped more often than
    /// they are away for seconds: another try begins at once, and its failure counts.
    private func requireHost(_ progress: TaskProgress) throws(ClientError) {
        guard order.options.retry == .usual, beginning == .anew, progress.lacksHost else { return }
        hasNoHost = true
        throw progress.withoutHost
    }

    /// Tells where a resumed download goes on, or that it could not (rule S-36).
    private func tellOfBeginning(_ progress: TaskProgress) {
        guard case .resumeData = beginning, !hasToldOfBeginning else { return }
        if let offset = progress.resumedAt {
            base = offset
            let total = progress.expected >= 0 ? " of \(Figures.size(progress.expected))" : ""
            display.note("resuming at \(Figures.size(offset))\(total)")
        } else if let response = progress.response, response.status < 400 {
            display.note("starting over: the server has something else there by now")
        } else {
            return
        }
        hasToldOfBeginning = true
    }

    /// Lets the file follow the transfer from the response on.
    private func copyAlong(_ feed: TaskFeed) throws(ClientError) {
        guard let response = feed.progress.response else { return }
        try require(response.status)
        // Until then the gateway alone goes on.
        guard target != nil || claim?.isTurn != false else { return }
        let delivery = try delivery(of: feed)
        if feed.progress.responseCount > 1 { delivery.beginAnew() }
        try delivery.follow()
    }

    /// What the server's words about a refusal, or a redirect that was not wanted, are is no file.
    private func require(_ status: Int) throws(ClientError) {
        guard status < 400, !(delegate.hasStoppedRedirect && (300...399).contains(status)) else {
            throw .serverAnswered(status: status)
        }
    }

    /// The delivery; made when the name is known at last.
    private func delivery(of feed: TaskFeed) throws(ClientError) -> ContentDelivery {
        if let delivery { return delivery }
        var target = target
        if target == nil {
            var path = LocalFileName.safe(feed.progress.response?.suggestedFilename)
            if let folder = order.output {
                path = folder + (folder.hasSuffix("/") ? "" : "/") + path
            }
            target = try openTarget(path)
        }
        guard let target else { throw .badArgument("a file needs a name") }
        target.announce(feed.id, of: feed.session)
        if firstBase == nil { firstBase = base }
        let made = ContentDelivery(client, task: feed.id, into: target.part)
        delivery = made
        return made
    }

    /// Completes the file of a task that has succeeded.
    private func collect(_ feed: TaskFeed) throws(ClientError) -> DownloadReceipt {
        let task = try feed.refresh()
        let status = task.responseStatus ?? 0
        try require(status)
        let delivery = try delivery(of: feed)
        let length = task.contentLength ?? 0
        try delivery.complete(length: length) { show(feed) }
        guard let target else { throw .badArgument("a file needs a name") }
        try target.commit()
        return DownloadReceipt(
            task: feed.id, url: task.url, path: target.path, status: status, length: length,
            fetched: max(0, length - (firstBase ?? 0)), digest: task.contentDigest,
            elapsed: display.elapsed)
    }

    private func show(_ feed: TaskFeed) {
        let (progress, note) = (feed.progress, feed.note)
        let name = target?.path.split(separator: "/").last.map(String.init)
        let count = delivery?.count ?? 0
        let received: Int64 =
            if progress.ending != nil {
                count
            } else if let connections = order.connections, connections > 1 {
                // The file can only follow the first of the ranges.
                max(count, progress.received)
            } else {
                delivery?.isMoving == true ? count : progress.received
            }
        display.update(
            name: name ?? order.url, received: received, total: progress.expected, base: base,
            note: note)
    }
}
