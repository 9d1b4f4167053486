internal import Diagnostics
internal import Loop
internal import Semantics

/// The files of stored responses: second names of what tasks have fetched, so that nothing is
/// copied, and either may go first.
struct CacheFiles {
    let threads: FileThreads
    let folder: ContentFolder
    private let log = Log("engine.cache")

    init(_ threads: FileThreads, in folder: ContentFolder) {
        self.threads = threads
        self.folder = folder
    }

    /// Gives the finished file of a task's content the name of a stored response.
    ///
    /// - Returns: false where that cannot be, which is logged.
    func link(_ task: TaskID, as id: CacheEntryID) async -> Bool {
        let folder = folder
        do {
            try await threads.run { try folder.link(task, as: id) }
            return true
        } catch {
            log.write(.warning, "a response is not stored", ["error": .words("\(error)")])
            return false
        }
    }

    /// The content of a stored response, open, or read if it is to be whole; nil where it is gone,
    /// or is not what it was.
    func content(of entry: CachedEntry, whole: Bool) async -> CachedContent? {
        let (folder, id, length) = (folder, entry.id, entry.response.length)
        do {
            return try await threads.runOpening { () -> CachedContent? in
                guard let file = try folder.open(id, length: length) else { return nil }
                guard whole else { return .file(file) }
                return .bytes(try file.read(at: 0, count: Int(length)))
            }
        } catch {
            log.write(.warning, "a stored response cannot be read", ["error": .words("\(error)")])
            return nil
        }
    }

    /// All bytes of the finished file of a task's content; nil where it cannot be read, which is
    /// logged.
    func read(_ task: TaskID, _ length: Int64) async -> [UInt8]? {
        let folder = folder
        do {
            return try await threads.runOpening {
                try ContentFile(reading: task, in: folder).read(at: 0, count: Int(length))
            }
        } catch {
            log.write(.warning, "a response is not stored", ["error": .words("\(error)")])
            return nil
        }
    }

    /// All bytes of a file without a name; nil where it cannot be read, which is logged.
    func read(_ file: ContentFile, _ length: Int64) async -> [UInt8]? {
        do {
            return try await threads.runOpening { try file.read(at: 0, count: Int(length)) }
        } catch {
            log.write(.warning, "a response is not stored", ["error": .words("\(error)")])
            return nil
        }
    }

    /// Removes a file, some time; what stays is swept up.
    func unlink(_ id: CacheEntryID) {
        let folder = folder
        threads.submit { try? folder.remove(id) }
    }

    /// Removes files; what stays is swept up.
    func remove(_ ids: [CacheEntryID]) async {
        guard !ids.isEmpty else { return }
        let folder = folder
        _ = try? await threads.run {
            for id in ids { try? folder.remove(id) }
        }
    }
}
