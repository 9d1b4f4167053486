internal import Glibc
public import Loop
internal import Semantics

/// Whole contents in a folder that may be on another file system, as NFS is: each is written under
/// another name, brought to the disk, and renamed.
///
/// The folder is laid out as a `ContentFolder`, with a file for the mark beside its 32 parts.
public final class SharedFolderContents: WholeContents {
    private let shared: SharedFolder
    private let files: FileThreads
    private let contents: LocalContentStore

    /// - Parameters:
    ///   - path: of a folder that is there, absolute.
    ///   - files: do the work on it, and nothing else: a file system that does not answer holds
    ///     them all.
    public nonisolated init(at path: String, files: FileThreads) {
        shared = SharedFolder(folder: ContentFolder(path: path))
        self.files = files
        contents = LocalContentStore(in: shared.folder, files: files)
    }

    /// As the port says.
    public func mark() async throws -> String? {
        try await usable { shared in try shared.readMark() }
    }

    /// As the port says.
    public func setMark(_ mark: String) async throws {
        try await usable { shared in try shared.write(mark: mark) }
    }

    /// As the port says.
    public func isEmpty() async throws -> Bool {
        try await usable { shared in try shared.folder.isEmpty() }
    }

    private func usable<Value: Sendable>(
        _ body: @escaping @Sendable (SharedFolder) throws -> Value
    ) async throws -> Value {
        do {
            return try await files.run { [shared] in try body(shared) }
        } catch {
            throw UnusablePlace(
                "The folder \(shared.folder.path) for contents cannot be used (\(error)): make it, or "
                    + "mount it, for the gateway's user to write in.")
        }
    }

    /// Nothing: half of a file that somebody writes looks like half of one that nobody does, until
    /// `list` finds it old.
    public func forgetOldWork() async {}

    /// As the port says.
    public func put(_ part: FinishedPart, while isWanted: @LoopActor () -> Bool) async throws {
        try await files.run { [shared] in try shared.put(part) }
    }

    /// As the port says.
    public func open(_ owner: ContentOwner) async throws -> (any OpenContent)? {
        if let content = try await contents.open(owner) { return content }
        try await files.run { [shared] in try shared.requireMark() }
        return nil
    }

    /// As the port says: a second name where the file system has such, else a second file.
    public func copy(_ source: ContentOwner, to target: ContentOwner) async throws {
        try await files.run { [shared] in
            do {
                try shared.folder.link(source.id, as: target.id)
            } catch let error as FileError
                where [EPERM, EOPNOTSUPP, EMLINK, ENOSYS].contains(error.code)
            {
                try shared.copy(source, to: target)
            }
        }
    }

    /// As the port says.
    public func remove(_ owners: [ContentOwner]) async throws { try await contents.remove(owners) }

    /// As the port says.
    public func length(of owner: ContentOwner) async throws -> Int64? {
        try await files.run { [shared] in
            let length = try shared.folder.length(of: owner.id, .whole)
            if length == nil { try shared.requireMark() }
            return length
        }
    }

    /// As the port says.
    public func list() async throws -> [ContentEntry] {
        try await files.run { [shared] in
            try shared.requireMark()
            shared.sweep()
            return try shared.folder.entries([.whole])
        }
    }

    /// Nothing here waits.
    public func stopWaiting() {}
}
