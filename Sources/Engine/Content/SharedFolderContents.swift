internal import Files
internal import Glibc
public import Loop
public import Semantics

/// Whole contents in a folder that may be on another file system, as NFS is: each is written under
/// another name, brought to the disk, and renamed.
///
/// The folder is laid out as a `ContentFolder`, with a file for the mark beside its 32 parts.
public final class SharedFolderContents: WholeContents {
    private let shared: SharedFolder
    private let files: FileThreads
    private let contents: LocalContentStore
    private let stretchLength: Int64

    /// - Parameters:
    ///   - path: of a folder that is there, absolute.
    ///   - files: do the work on it, and nothing else: a file system that does not answer holds
    ///     them all.
    ///   - stretchLength: how many bytes are sent ahead at a time; a multiple of
    ///     `FileBlock.alignment`.
    public nonisolated init(at path: String, files: FileThreads, stretchLength: Int64 = 8 << 20) {
        self.stretchLength = stretchLength
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
    public func open(_ content: ContentName) async throws -> (any OpenContent)? {
        if let content = try await contents.open(content) { return content }
        try await files.run { [shared] in try shared.requireMark() }
        return nil
    }

    /// As the port says: a second name where the file system has such, else a second file.
    public func copy(_ source: ContentName, to target: ContentName) async throws {
        try await files.run { [shared] in try shared.copy(source, to: target) }
    }

    /// As the port says.
    public func remove(_ contents: [ContentName]) async throws {
        try await files.run { [shared] in try shared.remove(contents) }
    }

    /// As the port says.
    public func length(of content: ContentName) async throws -> Int64? {
        try await files.run { [shared] in
            let length = try shared.folder.length(of: content)
            if length == nil { try shared.requireMark() }
            return length
        }
    }

    /// As the port says.
    public func list() async throws -> [ContentEntry] {
        try await files.run { [shared] in
            try shared.requireMark()
            shared.sweep()
            var entries: [ContentEntry] = []
            var ahead: [ContentOwner: ContentEntry] = [:]
            for entry in try shared.folder.entries([.whole, .ahead]) {
                guard entry.kind == .ahead else {
                    entries.append(entry)
                    continue
                }
                let known = ahead[entry.owner]
                ahead[entry.owner] = ContentEntry(
                    owner: entry.owner, kind: .ahead,
                    modified: max(entry.modified, known?.modified ?? entry.modified), tenant: nil,
                    length: entry.length + (known?.length ?? 0))
            }
            return entries + ahead.values
        }
    }

    // MARK: What is sent ahead

    /// As the port says.
    public func stretchLength(of total: Int64?) -> Int64 { stretchLength }

    /// As the port says: as a file of its own.
    public func put(
        _ stretch: Stretch, _ read: @escaping @Sendable () throws -> [UInt8],
        while isWanted: @LoopActor () -> Bool
    ) async throws {
        let bytes = try await files.run(read)
        guard isWanted() else { throw FileError("write", code: ECANCELED) }
        try await files.run { [shared] in try shared.put(stretch, bytes) }
    }

    /// As the port says.
    public func stretches(of task: TaskID) async throws -> [Stretch] {
        try await files.run { [shared] in try shared.stretches(of: task) }
    }

    /// As the port says.
    public func read(_ stretch: Stretch) async throws -> [UInt8] {
        try await files.run { [shared] in try shared.read(stretch) }
    }

    /// As the port says.
    public func remove(_ stretches: [Stretch]) async throws {
        try await files.run { [shared] in try shared.remove(stretches) }
    }

    /// Nothing: what nobody ends has a name that no content has.
    public func forgetUploads(of owner: ContentOwner) async throws {}

    /// Nothing here waits.
    public func stopWaiting() {}
}
