internal import Files
internal import Glibc
internal import Semantics

/// A folder of contents that may be on another file system. Every call blocks and belongs on a file
/// thread.
struct SharedFolder: Sendable {
    /// Its files and their names.
    let folder: ContentFolder
    private static let markName = "ferry-contents"
    /// What a crash leaves behind of a content that was being written is removed after so many
    /// seconds without a byte: another gateway may be writing it.
    private static let abandonment = 3600
    private static let draftEnd = ".new"
    private static let pieceLength: Int64 = 1 << 20

    // MARK: The mark

    /// The mark; nil where there is none, in a folder that is there.
    func readMark() throws -> String? {
        let directory = try Folder.open(folder.path)
        defer { close(directory) }
        let file = openat(directory, Self.markName, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw FileError("open", code: errno) }
            return nil
        }
        defer { close(file) }
        let bytes = try [UInt8](unsafeUninitializedCapacity: 128) { buffer, count in
            count = try ContentFile.read(
                into: UnsafeMutableRawBufferPointer(buffer), from: file, at: 0)
        }
        return String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
    }

    /// Makes the folder's parts, and leaves a mark.
    func write(mark: String) throws {
        try folder.prepare()
        try file("\(folder.path)/\(Self.markName)").write(Array("\(mark)\n".utf8))
    }

    /// What is missing in a folder without its mark is not gone: the folder is not mounted.
    ///
    /// - Throws: `FileError` that is `isAway`.
    func requireMark() throws {
        do {
            if try readMark() != nil { return }
        } catch let error as FileError where error.code != ENOENT {
            throw error
        }
        throw FileError("open", code: EHOSTDOWN)
    }

    // MARK: Contents

    /// Copies a part here.
    func put(_ part: FinishedPart) throws {
        do {
            try file(folder.path(of: part.name)).write { draft in
                var offset: Int64 = 0
                while offset < part.length {
                    let count = Int(min(Self.pieceLength, part.length - offset))
                    let bytes = try part.read(at: offset, count: count)
                    guard bytes.count == count else { throw FileError("pread", code: 0) }
                    try bytes.withUnsafeBytes { try ContentFile.write($0, to: draft, at: offset) }
                    offset += Int64(count)
                }
            }
        } catch let error as FileError where error.code == ENOENT {
            try requireMark()
            throw error
        }
    }

    /// Gives a content a second name where the file system has such, else makes a second file of
    /// it.
    func copy(_ source: ContentName, to target: ContentName) throws {
        do {
            try folder.link(source, as: target)
        } catch let error as FileError where error.code == ENOENT {
            try requireMark()
            throw error
        } catch let error as FileError
            where [EPERM, EOPNOTSUPP, EMLINK, ENOSYS].contains(error.code)
        {
            try makeCopy(source, to: target)
        }
    }

    private func makeCopy(_ source: ContentName, to target: ContentName) throws {
        try file(folder.path(of: target)).write { draft in
            try FileCopy.copy(folder.path(of: source), into: draft)
        }
    }

    /// Removes contents; those that are not there are fine too, in a folder that has its mark.
    func remove(_ contents: [ContentName]) throws {
        try remove(contents.map { folder.path(of: $0) })
    }

    /// The same with stretches.
    func remove(_ stretches: [Stretch]) throws { try remove(stretches.map { path(of: $0) }) }

    private func remove(_ paths: [String]) throws {
        var failure: FileError?
        var isIncomplete = false
        for path in paths where unlink(path) != 0 {
            if errno == ENOENT {
                isIncomplete = true
            } else {
                failure = failure ?? FileError("unlink", code: errno)
            }
        }
        if let failure { throw failure }
        if isIncomplete { try requireMark() }
    }

    /// A file here, whose draft has a name that no other gateway gives one.
    private func file(_ path: String) -> WholeFile {
        WholeFile(path, draft: "\(path).\(UInt64.random(in: 0 ... .max))\(Self.draftEnd)")
    }

    // MARK: Stretches

    func path(of stretch: Stretch) -> String { "\(folder.path)/\(stretch.name)" }

    /// Keeps a stretch.
    func put(_ stretch: Stretch, _ bytes: [UInt8]) throws {
        do throws(FileError) {
            try file(path(of: stretch)).write(bytes)
        } catch {
            if error.code == ENOENT { try requireMark() }
            throw error
        }
    }

    /// All stretches of a task.
    func stretches(of task: TaskID) throws -> [Stretch] {
        try requireMark()
        let parent = Folder.parent(of: folder.path(of: task))
        return try folder.names(in: parent, beginningWith: "\(task).").compactMap { name in
            var status = stat()
            guard stat("\(parent)/\(name)", &status) == 0 else { return nil }  // gone meanwhile
            return Stretch(named: name, length: Int64(status.st_size))
        }
    }

    /// The bytes of a stretch.
    func read(_ stretch: Stretch) throws -> [UInt8] {
        let file = Glibc.open(path(of: stretch), O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw FileError("open", code: errno) }
        defer { close(file) }
        let count = Int(stretch.range.upperBound - stretch.range.lowerBound)
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = try ContentFile.read(
                into: UnsafeMutableRawBufferPointer(buffer), from: file, at: 0)
        }
    }

    /// Removes what was left half written.
    func sweep() {
        for part in 0..<32 { sweep(folder.path(ofPart: part)) }
    }

    private func sweep(_ path: String) {
        // What cannot be looked through now is at the next sweep.
        _ = try? Folder.forEachName(in: path) { name in
            var status = stat()
            guard name.hasSuffix(Self.draftEnd), stat("\(path)/\(name)", &status) == 0,
                time(nil) - status.st_mtim.tv_sec > Self.abandonment
            else { return }
            unlink("\(path)/\(name)")
        }
    }
}
