internal import Loop
internal import Semantics

/// What contents come in by, until they are whole: always on this machine, whatever keeps them
/// then. What has come is in the folder of contents, or in the one file of all ephemeral sessions
/// (S-2).
@LoopActor
final class Spools {
    /// Keeps what is whole.
    let contents: any ContentStore
    let files: FileThreads
    let room: DiskRoom
    let clock: any Clock
    /// What ephemeral sessions have on the disk.
    let unnamed: UnnamedFile
    private let folder: ContentFolder
    private let digests: any Digests

    init(
        in folder: ContentFolder, files: FileThreads, room: DiskRoom, clock: any Clock,
        digests: any Digests, contents: any ContentStore
    ) {
        self.folder = folder
        self.files = files
        self.room = room
        self.clock = clock
        self.digests = digests
        self.contents = contents
        unnamed = UnnamedFile(in: folder, files: files)
    }

    /// A digest over no bytes yet.
    func makeDigest(_ algorithm: DigestAlgorithm) -> any RunningDigest {
        digests.start(algorithm)
    }

    /// A spool without bytes, of what a store will keep.
    ///
    /// - Parameters:
    ///   - owner: whose content comes.
    ///   - digest: taken of it.
    ///   - lane: of the spool whose place this one takes; nil where there was none.
    /// - Returns: the spool.
    func makeSpool(
        for owner: ContentOwner, digest: (any RunningDigest)?, lane: Int? = nil
    ) -> ContentSpool {
        ContentSpool(at: .named(folder, owner), digest: digest, of: self, lane: lane)
    }

    /// A spool without bytes, of what is gone when nobody has it any more (S-2); parameters as
    /// those of `makeSpool`.
    func makeUnnamedSpool(digest: (any RunningDigest)?, lane: Int? = nil) -> ContentSpool {
        ContentSpool(at: .unnamed(unnamed), digest: digest, of: self, lane: lane)
    }

    /// A spool that goes on with a file that has `length` bytes from the first on, and possibly
    /// ranges behind them; `digest` is taken at the end, of the whole.
    func goOn(
        with file: ContentFile, length: Int64, digest: (any RunningDigest)?
    ) -> ContentSpool {
        ContentSpool(continuing: file, length: length, digest: digest, of: self)
    }

    /// What has come of a content, as it lies on this machine.
    func part(of owner: ContentOwner, digest: (any RunningDigest)? = nil) -> ContentFile {
        ContentFile(continuing: owner, in: folder, digest: digest)
    }

    /// A file without a name, to be read.
    func open(_ file: ContentFile, length: Int64) -> any OpenContent {
        LocalContent(file, length: length, files: files)
    }

    /// Behind all that a lane has yet to write, takes up room in a task's part behind what that has
    /// for good; nil stands for a part that begins anew.
    ///
    /// - Throws: `FileError` where there is none.
    func takeRoom(behind end: Int64?, for task: TaskID, on lane: Int) async throws {
        try await files.run(on: lane) { [folder] in
            try ContentFile.takeRoom(behind: end, in: folder, for: task)
        }
    }
}
