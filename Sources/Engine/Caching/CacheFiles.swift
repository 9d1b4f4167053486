internal import Diagnostics
internal import Loop
internal import Semantics

/// The files of stored responses: copies of what tasks have fetched, of which either may go first.
@LoopActor
struct CacheFiles {
    private let contents: any ContentStore
    /// How many may be open at a time for tasks that have no slot of their host.
    private let open: SharedRoom
    private let log = Log("engine.cache")

    init(in contents: any ContentStore, open: SharedRoom) {
        self.contents = contents
        self.open = open
    }

    /// Lets a task open one that has no slot; nil where too many do.
    func permit(for tenant: TenantID) -> SharedPermit? { open.permit(for: tenant) }

    /// Makes the whole content of a task that of a stored response, too.
    ///
    /// - Returns: false where that cannot be, which is logged.
    func link(_ content: ContentName, as id: CacheEntryID) async -> Bool {
        do {
            try await contents.copy(content, to: .entry(id))
            return true
        } catch {
            log.write(.warning, "a response is not stored", ["error": .words("\(error)")])
            return false
        }
    }

    /// What was found of the content of a stored response.
    enum Finding {
        case content(CachedContent)
        /// It is gone, or is not what it was.
        case gone
        /// It cannot be read at the moment, which says nothing of it.
        case unreadable
    }

    /// The content of a stored response, open, or read if it is to be whole.
    func content(of entry: CachedEntry, whole: Bool) async -> Finding {
        let length = entry.response.length
        do {
            guard let file = try await contents.open(.entry(entry.id)), file.length == length
            else { return .gone }
            guard whole else { return .content(.file(file)) }
            let bytes = try await file.read(at: 0, count: Int(length))
            return bytes.count == length ? .content(.bytes(bytes)) : .gone
        } catch {
            log.write(.warning, "a stored response cannot be read", ["error": .words("\(error)")])
            return .unreadable
        }
    }

    /// All bytes of a task's whole content; nil where it cannot be read, which is logged.
    func read(_ content: ContentName, _ length: Int64) async -> [UInt8]? {
        await reading {
            let file = try await contents.openKnown(content)
            return try await file.read(at: 0, count: Int(length))
        }
    }

    /// All bytes of an open content; nil where it cannot be read, which is logged.
    func read(_ file: any OpenContent, _ length: Int64) async -> [UInt8]? {
        await reading { try await file.read(at: 0, count: Int(length)) }
    }

    private func reading(_ read: @LoopActor () async throws -> [UInt8]) async -> [UInt8]? {
        do {
            return try await read()
        } catch {
            log.write(.warning, "a response is not stored", ["error": .words("\(error)")])
            return nil
        }
    }

    /// Removes a file, some time; what stays is swept up.
    func unlink(_ id: CacheEntryID) { contents.discard(.entry(id)) }

    /// Removes files; what stays is swept up.
    func remove(_ ids: [CacheEntryID]) async {
        guard !ids.isEmpty else { return }
        do {
            try await contents.remove(ids.map { .entry($0) })
        } catch {
            log.write(
                .warning, "stored responses cannot be removed yet", ["error": .words("\(error)")])
        }
    }
}
