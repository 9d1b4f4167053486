/// Fetches a URL through the gateway into a file.
///
/// A download task of the session `shared` does the work. As soon as there is a response the file follows
/// the transfer, so that it is complete hardly later than the gateway's own copy; where that is cut or
/// refused, the whole is fetched once the task has completed. Either way the file gets its name only after
/// the task has succeeded and the length is right. The task is deleted at the end, whatever the end is.
public final class Download {
    private let order: DownloadOrder
    private let client: GatewayClient
    private let display: ProgressDisplay
    private var part: PartFile?
    private var copy: ContentCopy?
    private var mayFollow = true
    private var progress = TaskProgress()

    /// How often a finished task's content is asked for before the download fails.
    private static let attempts = 3
    /// How long the content of a finished task may stand still.
    private static let patience = Duration.seconds(60)

    /// A download that has not begun.
    public init(_ order: DownloadOrder, client: GatewayClient, display: ProgressDisplay) {
        self.order = order
        self.client = client
        self.display = display
    }

    /// Does it, and waits for its end.
    ///
    /// - Throws: `transferFailed`, `serverAnswered`, `fileExists`, `file`, `interrupted`, and what the
    ///   client throws. No file and no task is left then.
    public func run() throws(ClientError) -> DownloadReceipt {
        if let output = order.output, !PartFile.isFolder(output) {
            part = try PartFile(output, replacesFile: order.replacesFile)
        }
        defer {
            copy = nil
            part?.discard()
        }
        let id = try create()
        do throws(ClientError) {
            try follow(id)
            let receipt = try collect(id)
            display.finish(receipt.sentence)
            forget(id)
            return receipt
        } catch {
            display.finish()
            copy = nil
            abandon(id)
            throw error
        }
    }

    // MARK: The task

    /// Not interruptible: a task whose id never arrived could not be cancelled.
    private func create() throws(ClientError) -> String {
        let path = "/v1/sessions/shared/tasks"
        let answer = try client.json("POST", path, json: order.json, interruptible: false)
        return try RemoteTask(answer).id
    }

    private func follow(_ id: String) throws(ClientError) {
        let events = try EventStream(client, path: RemoteTask.path(id, "/events"), replaysAll: true)
        defer { events.close() }
        while progress.ending == nil {
            try client.turn()
            while let event = try events.next() {
                if progress.apply(event) == .refresh { progress.apply(try client.task(id)) }
            }
            if events.isEnded, progress.ending == nil {
                progress.apply(try client.task(id))
                guard progress.ending != nil else {
                    throw .unexpectedAnswer("the events of a running task have ended")
                }
            }
            try copyAlong(id)
            show()
        }
        if case .failed(let failure) = progress.ending { throw .transferFailed(failure) }
    }

    /// Lets the file follow the transfer from the response on.
    private func copyAlong(_ id: String) throws(ClientError) {
        guard let response = progress.response else { return }
        guard response.status < 400 else { throw .serverAnswered(status: response.status) }
        // A second response: what has been copied belongs to the first.
        if progress.responseCount > 1 { mayFollow = false }
        if case .failed = try copy?.status() { mayFollow = false }
        guard mayFollow else {
            copy = nil
            return
        }
        if copy == nil { copy = try ContentCopy(client, task: id, into: try partFile()) }
    }

    /// The part; made when the name is known at last.
    private func partFile() throws(ClientError) -> PartFile {
        if let part { return part }
        var path = LocalFileName.safe(progress.response?.suggestedFilename)
        if let folder = order.output { path = folder + (folder.hasSuffix("/") ? "" : "/") + path }
        let made = try PartFile(path, replacesFile: order.replacesFile)
        part = made
        return made
    }

    // MARK: The content

    /// Completes the file of a task that has succeeded.
    private func collect(_ id: String) throws(ClientError) -> DownloadReceipt {
        let task = try client.task(id)
        progress.apply(task)
        let status = task.responseStatus ?? 0
        guard status < 400 else { throw .serverAnswered(status: status) }
        let part = try partFile()
        let length = task.contentLength ?? 0
        try fill(part, id, length)
        try part.commit()
        return DownloadReceipt(
            task: id, url: task.url, path: part.path, status: status, length: length,
            digest: task.contentDigest, elapsed: display.elapsed)
    }

    private func fill(_ part: PartFile, _ id: String, _ length: Int64) throws(ClientError) {
        guard length > 0 else {
            // No content, as after a 204, is an empty file; to ask for it would be refused.
            copy = nil
            return try part.restart()
        }
        var attempt = 0
        while true {
            let failure: ClientError
            switch try copyStatus() {
            case .whole? where part.count == length: return
            case .moving?:
                try client.turn()
                show()
                continue
            case .whole?:
                failure = .unexpectedAnswer("\(part.count) bytes of a content of \(length)")
            case .failed(let error)?: failure = error
            case nil: failure = .unexpectedAnswer("no content")
            }
            copy = nil
            attempt += 1
            guard attempt <= Download.attempts else { throw failure }
            try part.restart()
            copy = try ContentCopy(client, task: id, into: part)
        }
    }

    /// How the copy stands; nil when there is none.
    private func copyStatus() throws(ClientError) -> ContentCopy.Status? {
        guard let copy else { return nil }
        guard copy.stillness < Download.patience else {
            return .failed(
                .unreachable(
                    gateway: client.gateway.address.description, detail: "the content stands still")
            )
        }
        return try copy.status()
    }

    private func show() {
        let name = part.map { $0.path.split(separator: "/").last.map(String.init) ?? $0.path }
        let received = copy != nil || progress.ending != nil ? part?.count ?? 0 : progress.received
        display.update(
            name: name ?? order.url, received: received, total: progress.expected,
            note: progress.note)
    }

    // MARK: The end

    /// Deletes the task, whose content is in the file now (rule S-60). If that fails, the gateway's time
    /// to live will do it.
    private func forget(_ id: String) {
        client.heedInterrupts()
        _ = try? client.send("DELETE", RemoteTask.path(id), seconds: 5)
    }

    /// Cancels and deletes the task of a download that failed, as far as the gateway can be reached.
    private func abandon(_ id: String) {
        client.heedInterrupts()
        let wait = (name: "Prefer", value: "wait=5")
        do throws(ClientError) {
            if progress.ending == nil {
                try client.send("POST", RemoteTask.path(id, "/cancel"), seconds: 5)
                // A running task cannot be deleted.
                try client.send("GET", RemoteTask.path(id), headers: [wait], seconds: 10)
            }
            try client.send("DELETE", RemoteTask.path(id), seconds: 5)
        } catch {
            // The first error is the one that the user has to see.
        }
    }
}
