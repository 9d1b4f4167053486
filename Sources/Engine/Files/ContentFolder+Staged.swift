internal import Glibc
internal import Loop
internal import Semantics

/// Staged files on disk. Every call blocks and belongs on a file thread.
extension ContentFolder {
    /// Whether the disk has what the record of a file promises.
    ///
    /// A crash between the last rename of an upload and its commit leaves a whole file with the
    /// record of a part: that is made a part again, and goes on where the record says.
    func holds(_ file: StagedFile) throws -> Bool {
        if file.isComplete { return try length(of: file.id, .whole) == file.length }
        if file.length == 0 { return true }
        try reopen(file.id)
        return try length(of: file.id, .part).map { $0 >= file.length } ?? false
    }
}
