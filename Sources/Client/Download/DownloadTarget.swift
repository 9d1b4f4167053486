/// Where a download goes: the part file, and beside it what another command can go on with.
final class DownloadTarget {
    /// The file while it grows; locked, so that no other command writes to either.
    let part: PartFile
    /// What the file beside it holds now; nil for none that is of this URL.
    private(set) var point: ResumeFile?
    /// Why a file beside it that may be one of ours cannot be used.
    let complaint: ClientError?

    private let url: String

    /// Opens the target at `path`; of a part that is there, it keeps what an earlier command has
    /// left to go on with, if it `continues`.
    ///
    /// `whileWaiting` is called while nobody reads a pipe.
    /// - Throws: `fileExists`, `file`, and what `whileWaiting` throws.
    init(
        _ path: String, url: String, replacesFile: Bool, continues: Bool = true,
        whileWaiting: () throws(ClientError) -> Void = {}
    ) throws(ClientError) {
        self.url = url
        var found: ResumeFile?
        var complaint: ClientError?
        let claim = { () throws(ClientError) -> Int64? in
            do throws(ClientError) {
                found = try ResumeFile.read(for: path)
            } catch {
                complaint = error
            }
            guard found != nil || ResumeFile.isLeft(for: path) else { return nil }
            if !continues, found != nil {
                ResumeFile.remove(for: path)
                found = nil
            }
            return found?.url == url ? found?.partialLength ?? 0 : 0
        }
        part = try PartFile(
            path, replacesFile: replacesFile, claim: claim, whileWaiting: whileWaiting)
        self.complaint = complaint
        if found?.url == url { point = found }
        point?.partialLength = part.count
    }

    /// Standard output as a target.
    ///
    /// - Throws: `file`.
    init(standardOutputFor url: String) throws(ClientError) {
        self.url = url
        complaint = nil
        part = try PartFile(standardOutput: ())
    }

    /// Whether another command could go on with what is left.
    var canBeLeft: Bool { !part.isStream }

    /// The name that the file will have.
    var path: String { part.path }

    /// Leaves `resumeData`, or the task itself, with the session that was made for it, for another
    /// command to go on with; of the part only `count` bytes, which must be all of it or none.
    ///
    /// - Throws: `file`.
    func save(
        task: String?, of session: String? = nil, resumeData: String?, count: Int64 = 0
    ) throws(ClientError) {
        guard canBeLeft else { return }
        // Also where the disk is full: the part that is given up makes room.
        if count > 0 { try part.synchronize() } else { try part.restart() }
        let point = ResumeFile(
            url: url, task: task, session: session, resumeData: resumeData, partialLength: count)
        try point.write(for: path)
        self.point = point
    }

    /// Notes that `task` of a session goes on with what was left.
    ///
    /// - Throws: `file`.
    func isTakenUp(by task: String, of session: String?) throws(ClientError) {
        guard var point, point.task != task else { return }
        point.task = task
        point.session = session
        try point.write(for: path)
        self.point = point
    }

    /// Notes the task while it runs, so that a command that is killed leaves what the next one goes
    /// on with.
    func announce(_ task: String, of session: String?) {
        guard point == nil, complaint == nil, canBeLeft else { return }
        do throws(ClientError) {
            try save(task: task, of: session, resumeData: nil)
        } catch {
            // The transfer does without; where something is to be left, it is told.
            point = nil
        }
    }

    /// Forgets what was left, and empties the part.
    ///
    /// - Throws: `file`.
    func forget() throws(ClientError) {
        abandon()
        try part.restart()
    }

    /// Gives the whole file its name.
    ///
    /// - Throws: `fileExists`, `file`.
    func commit() throws(ClientError) {
        try part.commit()
        if canBeLeft { ResumeFile.remove(for: path) }
        point = nil
    }

    /// Leaves nothing for another command.
    func abandon() {
        if point != nil { ResumeFile.remove(for: path) }
        point = nil
    }

    /// Lets go of the part: it stays only where another command goes on with it.
    func close() {
        if let point, point.partialLength > 0 { part.keep() } else { part.discard() }
    }
}
