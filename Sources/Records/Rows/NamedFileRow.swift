package import Engine
package import Semantics

extension NamedFile {
    /// The file that a task's row tells of; nil where it tells of none, or is damaged. All that is
    /// read lies in clear.
    ///
    /// - Parameters:
    ///   - task: the row's id.
    ///   - state: as `StoredState`, but `removed`.
    ///   - status: the clear part.
    package init?(of task: TaskID, state: Int64, status: [UInt8]) {
        let isCompleted = state == StoredState.completed.rawValue
        // One that has not completed may have its content already (`isContentKept`).
        if let content = try? TaskStatus.content(in: status), isCompleted || !content.isPart {
            guard content.place == .file else { return nil }
            self.init(
                owner: .task(task), kind: .whole, length: content.length, digest: content.digest,
                point: nil)
            return
        }
        // A part under another name is kept for resume data, and has no row.
        guard !isCompleted, let checkpoint = try? TaskStatus.checkpoint(in: status, of: task),
            checkpoint.part == task
        else { return nil }
        self.init(
            owner: .task(task), kind: .part, length: checkpoint.point.received.last?.upperBound,
            digest: nil, point: checkpoint.point)
    }

    /// The file of a stored response that has one.
    package init(of entry: CacheEntryID) {
        self.init(owner: .entry(entry), kind: .whole, length: nil, digest: nil, point: nil)
    }

    /// A staged file, or its part; one with neither is none.
    package init(of file: StagedFile) {
        self.init(
            owner: .file(file.id), kind: file.isComplete ? .whole : .part, length: file.length,
            digest: file.expectedDigest?.description, point: nil)
    }
}
