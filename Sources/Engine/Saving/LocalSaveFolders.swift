internal import Files
internal import Glibc
internal import Loop
internal import Semantics

/// Folders of this machine's file systems.
final class LocalSaveFolders: SaveFolders {
    private let roots: [String: String]
    private let contents: ContentFolder
    private let files: FileThreads

    /// - Parameters:
    ///   - roots: the folders' paths by their names. None of them has to be there yet.
    ///   - contents: where contents lie: one on the same file system is given a second name, and
    ///     not copied.
    ///   - files: do the work.
    nonisolated init(
        _ roots: [String: String], contents: ContentFolder, files: FileThreads
    ) {
        self.roots = roots
        self.contents = contents
        self.files = files
    }

    nonisolated var names: [String] { roots.keys.sorted() }

    func check(_ destination: SaveDestination, length: Int64?) async throws(SaveFault) {
        try await run(destination) { root throws(SaveFault) in
            var room = statvfs()
            guard statvfs(root, &room) == 0 else { throw .noFolder }
            let free = room.bytes(of: room.f_bavail)
            // What lies on the same disk already takes no further room.
            guard free >= (length ?? 1) || self.isOnDisk(of: root) else { throw .noRoom }
            let (folder, isParent) = try OpenFolder.deepest(below: root, of: destination.path)
            try folder.requireWriting()
            guard isParent, let status = try folder.status(destination.name) else { return }
            switch destination.ifExists {
            case .fail: throw status.isFolder ? .isFolder : .exists
            case .rename: break
            case .replace: if status.isFolder { throw .isFolder }
            }
        }
    }

    private nonisolated func isOnDisk(of root: String) -> Bool {
        var (here, there) = (stat(), stat())
        return stat(root, &here) == 0 && stat(contents.path, &there) == 0
            && here.st_dev == there.st_dev
    }

    func stage(
        _ source: SaveSource, of task: TaskID, for destination: SaveDestination
    ) async throws(SaveFault) -> SavedFile {
        let temporary = destination.temporaryName(of: task)
        let linkable: String? =
            if case .content(_, let owner?) = source { contents.path(of: owner.id) } else { nil }
        let staged = try await run(destination) { root throws(SaveFault) -> Staged in
            guard
                let folder = try OpenFolder.parent(
                    below: root, of: destination.path, makes: true)
            else { throw .noFolder }
            try folder.remove(temporary)
            if let linkable, try folder.link(linkable, as: temporary) {
                let descriptor = folder.openFile(temporary)
                guard descriptor >= 0 else { throw OpenFolder.fault("open") }
                return Staged(descriptor, folder)
            }
            return Staged(try folder.make(temporary), folder, isEmpty: true)
        }
        do {
            if staged.isEmpty { try await copy(source, to: staged) }
            return try await run(destination) { _ throws(SaveFault) in
                try staged.finish(at: destination.path)
            }
        } catch {
            discard(task, for: destination)
            throw error
        }
    }

    /// Bytes that are copied at a time.
    private static let pieceSize = 1 << 20

    private func copy(_ source: SaveSource, to staged: Staged) async throws(SaveFault) {
        var offset: Int64 = 0
        switch source {
        case .bytes(let bytes): try await write(bytes, to: staged, at: 0)
        case .content(let content, _):
            while offset < content.length {
                let bytes: [UInt8]
                do {
                    bytes = try await content.read(at: offset, count: LocalSaveFolders.pieceSize)
                } catch {
                    throw SaveFault(error)
                }
                guard !bytes.isEmpty else { throw .file(FileError("pread", code: ENODATA)) }
                try await write(bytes, to: staged, at: offset)
                offset += Int64(bytes.count)
            }
        }
    }

    private func write(
        _ bytes: [UInt8], to staged: Staged, at offset: Int64
    ) async throws(SaveFault) {
        do {
            try await files.run {
                try bytes.withUnsafeBytes {
                    try ContentFile.write($0, to: staged.descriptor, at: offset)
                }
            }
        } catch {
            throw SaveFault(error)
        }
    }

    func publish(
        _ file: SavedFile, of task: TaskID, at destination: SaveDestination
    ) async throws(SaveFault) -> SavedFile {
        let temporary = destination.temporaryName(of: task)
        return try await run(destination) { root throws(SaveFault) in
            guard
                let folder = try OpenFolder.parent(
                    below: root, of: destination.path, makes: true)
            else { throw .noFolder }
            var file = file
            for number in 0... {
                file.path = destination.path(attempt: number)
                let name = SaveDestination.name(of: file.path)
                if destination.ifExists == .replace {
                    try folder.rename(temporary, inPlaceOf: name)
                    break
                }
                do throws(SaveFault) {
                    try folder.rename(temporary, toNew: name)
                    break
                } catch .exists where destination.ifExists == .rename && number < 9999 {
                    continue
                }
            }
            try folder.sync()
            return file
        }
    }

    func find(
        _ file: SavedFile, of task: TaskID, at destination: SaveDestination
    ) async throws(SaveFault) -> SaveStage {
        let temporary = destination.temporaryName(of: task)
        return try await run(destination) { root throws(SaveFault) -> SaveStage in
            guard
                let folder = try OpenFolder.parent(
                    below: root, of: destination.path, makes: false)
            else { return .gone }
            if let status = try folder.status(temporary), file.isSame(status) { return .staged }
            var file = file
            for number in 0...(destination.ifExists == .rename ? 9999 : 0) {
                file.path = destination.path(attempt: number)
                guard let status = try folder.status(SaveDestination.name(of: file.path)) else {
                    return .gone
                }
                guard file.isSame(status) else { continue }
                // The rename may not have been brought to the disk before the process ended.
                try folder.sync()
                return .published(file)
            }
            return .gone
        }
    }

    func discard(_ task: TaskID, for destination: SaveDestination) {
        guard let root = roots[destination.folder] else { return }
        let temporary = destination.temporaryName(of: task)
        files.submit {
            let folder = try? OpenFolder.parent(below: root, of: destination.path, makes: false)
            try? folder?.remove(temporary)
        }
    }

    func open(
        _ file: SavedFile, in folder: String, length: Int64
    ) async -> (any OpenContent)? {
        let destination = SaveDestination(folder: folder, path: file.path)
        let opened = try? await run(destination) { root throws(SaveFault) -> SavedContent? in
            guard
                let parent = try OpenFolder.parent(below: root, of: file.path, makes: false)
            else { return nil }
            let descriptor = parent.openFile(destination.name)
            guard descriptor >= 0 else { return nil }
            let content = SavedContent(descriptor, length: length, files: self.files)
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                file.isSame(status), Int64(status.st_size) == length
            else { return nil }
            return content
        }
        return opened ?? nil
    }

    private func run<Result: Sendable>(
        _ destination: SaveDestination,
        _ work: @escaping @Sendable (String) throws(SaveFault) -> Result
    ) async throws(SaveFault) -> Result {
        guard let root = roots[destination.folder] else { throw .noFolder }
        do {
            return try await files.run { try work(root) }
        } catch {
            throw SaveFault(error)
        }
    }
}

/// A file under its temporary name.
private final class Staged: Sendable {
    let descriptor: CInt
    /// Whether its bytes have yet to come.
    let isEmpty: Bool
    private let folder: OpenFolder

    init(_ descriptor: CInt, _ folder: OpenFolder, isEmpty: Bool = false) {
        self.descriptor = descriptor
        self.folder = folder
        self.isEmpty = isEmpty
    }

    deinit { close(descriptor) }

    /// The process's umask; to ask for it by umask(2) would be to change it for other threads.
    private static let mask: mode_t = {
        guard let status = fopen("/proc/self/status", "re") else { return 0o077 }
        defer { fclose(status) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, CInt(line.count), status) != nil {
            let end = line.firstIndex(of: 0) ?? line.endIndex
            let text = String(decoding: line[..<end].map(UInt8.init(bitPattern:)), as: UTF8.self)
            if text.hasPrefix("Umask:") {
                return mode_t(text.dropFirst(6).filter(\.isNumber), radix: 8) ?? 0o077
            }
        }
        return 0o077
    }()

    /// Brings it to the disk for good, with the rights that a new file has here.
    func finish(at path: String) throws(SaveFault) -> SavedFile {
        if !isEmpty {
            guard fchmod(descriptor, 0o666 & ~Staged.mask) == 0 else {
                throw OpenFolder.fault("fchmod")
            }
        }
        guard fsync(descriptor) == 0 else { throw OpenFolder.fault("fsync") }
        try folder.sync()
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw OpenFolder.fault("fstat") }
        return SavedFile(status, at: path)
    }
}

/// A saved file that is read.
@LoopActor
private final class SavedContent: OpenContent {
    nonisolated let length: Int64
    private nonisolated let descriptor: CInt
    private nonisolated let files: FileThreads
    private lazy var lane = files.makeLane()

    nonisolated init(_ descriptor: CInt, length: Int64, files: FileThreads) {
        self.descriptor = descriptor
        self.length = length
        self.files = files
    }

    deinit { close(descriptor) }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        try await files.run { [self] in
            try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                filled = try ContentFile.read(
                    into: UnsafeMutableRawBufferPointer(buffer), from: descriptor, at: offset)
            }
        }
    }

    func read(
        into block: FileBlock, at offset: Int64, count: Int,
        then completion: @escaping @LoopActor (Result<Void, any Error>) -> Void
    ) {
        files.submit(
            on: lane,
            { [self] in
                try block.refill { buffer in
                    try ContentFile.read(
                        into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]),
                        from: descriptor, at: offset)
                }
                guard block.count == count else { throw FileError("pread", code: 0) }
            }, then: completion)
    }

    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        PageCache.read(descriptor, into: buffer, at: offset)
    }
}

extension SaveFault {
    /// What a file thread has thrown.
    fileprivate init(_ error: any Error) {
        switch error {
        case let error as SaveFault: self = error
        case let error as FileError: self = error.isOutOfSpace ? .noRoom : .file(error)
        default: self = .file(FileError("write", code: EIO))
        }
    }
}

extension SaveDestination {
    /// The file's name, without its folders.
    fileprivate var name: String { SaveDestination.name(of: path) }

    fileprivate static func name(of path: String) -> String {
        names(of: path).last ?? path
    }

    fileprivate func temporaryName(of task: TaskID) -> String {
        SaveDestination.temporaryPrefix + task.description
    }
}

extension stat {
    fileprivate var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
}
