/// Brings the content of a task that is there already, such as one of a background session, into a
/// file, once the task has completed.
///
/// The file gets its name when it is whole; then the task is deleted. Whatever else happens, the
/// task stays as it is, and goes on: the same command fetches it later. Of a data task that has
/// become a download that one is fetched.
public struct TaskCollection {
    private let id: String
    private let output: String?
    private let replacesFile: Bool
    private let client: GatewayClient
    private let display: ProgressDisplay

    /// A collection that has not begun.
    ///
    /// - Parameters:
    ///   - id: the task.
    ///   - output: the file to write, or the folder to write into; nil for the suggested name in
    ///     this folder.
    ///   - replacesFile: whether a file of that name may be replaced.
    ///   - client: of the gateway that has the task.
    ///   - display: where progress is shown.
    public init(
        of id: String, to output: String?, replacesFile: Bool, client: GatewayClient,
        display: ProgressDisplay
    ) {
        self.id = id
        self.output = output
        self.replacesFile = replacesFile
        self.client = client
        self.display = display
    }

    /// Waits for the task's end, and fetches what there is.
    ///
    /// - Throws: `transferFailed`, `serverAnswered`, `fileExists`, `file`, `interrupted`,
    ///   `badArgument` for a task whose bytes the gateway has not kept, and what the client throws.
    public func run() throws(ClientError) -> DownloadReceipt {
        do throws(ClientError) {
            var task = try completedTask(id)
            if let successor = task.successor { task = try completedTask(successor) }
            if let failure = task.failure { throw .transferFailed(failure) }
            let status = task.responseStatus ?? 0
            guard status < 400 else { throw .serverAnswered(status: status) }
            let receipt = try fetch(task, status)
            display.finish(receipt.sentence)
            client.forget(task.id)
            if task.id != id { client.forget(id) }
            return receipt
        } catch {
            display.finish()
            throw error
        }
    }

    private func completedTask(_ id: String) throws(ClientError) -> RemoteTask {
        let task = try client.task(id)
        // Before a long wait for nothing.
        if let output, output != "-", !replacesFile, !PartFile.isFolder(output),
            PartFile.isTaken(output)
        {
            throw .fileExists(path: output)
        }
        guard !task.isCompleted else { return task }
        let feed = try TaskFeed(client, task, asShown: true)
        defer { feed.close() }
        var hasTold = false
        while feed.progress.ending == nil {
            if feed.progress.isSuspended, !hasTold {
                display.note("\(id) is suspended: `ferry resume \(id)` lets it go on")
                hasTold = true
            }
            try feed.turn()
            let (bytes, total) = feed.progress.moved
            display.update(
                name: task.url, received: bytes, total: total,
                note: feed.note)
        }
        return try feed.refresh()
    }

    private func fetch(_ task: RemoteTask, _ status: Int) throws(ClientError) -> DownloadReceipt {
        // After a 204 there is none to keep: that is an empty file.
        guard let length = task.contentLength ?? (task.received == 0 ? 0 : nil) else {
            throw .badArgument(
                "the gateway has kept nothing of \(task.id), which was read while it came")
        }
        let target = try target(of: task)
        defer { target.close() }
        // A command that is killed leaves a part that the next one knows to be its own.
        target.announce(task.id, of: nil)
        let delivery = ContentDelivery(client, task: task.id, into: target.part)
        do throws(ClientError) {
            try delivery.complete(length: length) {
                display.update(name: target.path, received: delivery.count, total: length)
            }
            try target.commit()
        } catch {
            target.abandon()
            throw error
        }
        return DownloadReceipt(
            task: task.id, url: task.url, path: target.path, status: status, length: length,
            fetched: length, digest: task.contentDigest, elapsed: display.elapsed)
    }

    private func target(of task: RemoteTask) throws(ClientError) -> DownloadTarget {
        if output == "-" { return try DownloadTarget(standardOutputFor: task.url) }
        return try DownloadTarget(
            path(of: task), url: task.url, replacesFile: replacesFile, continues: false
        ) { () throws(ClientError) in try client.turn(within: .zero) }
    }

    private func path(of task: RemoteTask) -> String {
        let name = LocalFileName.safe(task.suggestedFilename)
        guard let output else { return name }
        guard PartFile.isFolder(output) else { return output }
        return output + (output.hasSuffix("/") ? "" : "/") + name
    }
}
