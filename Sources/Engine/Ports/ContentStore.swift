internal import Files
internal import Glibc
public import Loop
public import Semantics

/// What the engine asks of the place where contents are kept: what tasks have fetched, stored
/// responses and staged files.
///
/// A content comes whole and never changes again. While it comes it is on this machine (`Spools`),
/// and what has come of it is its part. Contents of ephemeral sessions are not kept here.
/// What a `lane` tells is where a spool has its file work done: a call that is given one comes
/// behind what that spool has still to write.
///
/// Errors are `FileError`s, in which the disk's want of room can be told from its failure (R-5,
///
@LoopActor
public protocol ContentStore: Sendable {
    /// Puts a whole content into its place, in which it can be opened; there for good when it
    /// returns.
    ///
    /// - Returns: its series, which the owner's record must tell: until it does, what is here of
    ///   the part stays, so that nothing is lost with the process; `forgetPart` removes it. Nil
    ///   where contents have none.
    /// - Throws: `FileError`; one that is `isForLater`, as for want of a descriptor, has put
    ///   nothing, and the call may be made again.
    @discardableResult
    func put(_ part: FinishedPart) async throws -> Int64?
    /// A whole content, to be read; nil where there is none.
    ///
    /// - Throws: `FileError`.
    func open(_ content: ContentName) async throws -> (any OpenContent)?
    /// Gives a whole content to a second owner; each of the two stays when the other one goes.
    ///
    /// - Throws: `FileError`, also where there is none.
    func copy(_ source: ContentName, to target: ContentName) async throws
    /// Removes what there is of contents, whole or as parts; nothing is fine too. A part that was
    /// kept for another download stays. Who has opened a content can read it to its end.
    ///
    /// - Throws: `FileError`, the first one; what could be removed is.
    func remove(_ contents: [ContentName]) async throws
    /// Removes what `list` has told of, for good when it returns; what is gone is fine too.
    ///
    /// - Throws: `FileError`.
    func remove(_ parts: [ContentEntry]) async throws
    /// As `remove`, but some time, and nobody hears of a failure: what stays is swept up. Here, by
    /// the next start; elsewhere it is owed (`owesRemoval`).
    ///
    /// - Parameters:
    ///   - content: what goes.
    ///   - lane: whose writes come first; nil for none.
    ///   - completion: called when that was done, or could not be; nil where nobody waits.
    func discard(
        _ content: ContentName, behind lane: Int?, then completion: (@LoopActor () -> Void)?)
    /// As `discard`, for one that `list` has told of, be it a part that was kept.
    func discard(_ entry: ContentEntry)
    /// Whether a whole content was to be removed by this process, and could not be, as its place
    /// was away: `discard` tries it again. Not one that was put again since.
    func owesRemoval(of content: ContentName) -> Bool
    /// All that is here of some kinds, in no order: for housekeeping.
    ///
    /// - Throws: `FileError`.
    func list(_ kinds: Set<ContentKind>) async throws -> [ContentEntry]
    /// Keeps the part of a download that has ended for another one that will go on with it (S-34).
    ///
    /// - Parameters:
    ///   - task: whose part it is.
    ///   - tenant: whose task that is, as `list` will tell.
    ///   - length: how much of it is kept, from its first byte on.
    ///   - instant: since when it is kept, as `list` will tell.
    ///   - lane: whose writes come first; nil for none.
    /// - Returns: false where there is none.
    /// - Throws: `FileError`.
    func keepPart(
        of task: TaskID, in tenant: TenantID, length: Int64, since instant: KeptTime,
        behind lane: Int?
    ) async throws -> Bool
    /// Makes the part of one download that of another one of its tenant, on this machine, so that a
    /// spool can go on with it: from elsewhere, where stretches were sent ahead.
    ///
    /// - Parameters:
    ///   - checkpoint: whose part it is, and what it should have.
    ///   - tenant: of both.
    ///   - task: whose part it becomes.
    ///   - note: called where there is less than that, before the part is here: when it returns
    ///     true, the task's record tells so for good; false where it never will.
    /// - Returns: what is here; nil where nothing is, or not any more.
    /// - Throws: `FileError`; one that is `isForLater` where it may be there, or elsewhere.
    ///   `ECANCELED` where the caller was cancelled before all of it was here.
    func takePart(
        of checkpoint: DownloadCheckpoint, in tenant: TenantID, as task: TaskID,
        noting note: @LoopActor (DownloadCheckpoint) async -> Bool
    ) async throws -> DownloadCheckpoint?
    /// More of a download is on this machine for good. Where others would go on with it, stretches
    /// of it are sent ahead, some time; nothing waits for that, and nothing fails by it.
    ///
    /// - Parameters:
    ///   - point: what there is.
    ///   - task: whose download it is.
    ///   - tenant: whose task that is.
    ///   - series: of what was sent of this part; nil for nothing.
    /// - Returns: the series, for the task's record; nil for nothing.
    func sendAhead(
        _ point: ResumePoint, of task: TaskID, for tenant: TenantID, in series: Int64?
    ) -> Int64?
    /// Removes what was sent ahead of a task that has ended, some time: once the store has for good
    /// what was recorded in this turn of the loop.
    ///
    /// - Parameters:
    ///   - task: whose it is.
    ///   - series: as the task's record tells; nil for none.
    func forgetAhead(of task: TaskID, in series: Int64?)
    /// Removes the part that a put, or a hand-over, has left on this machine, some time: once the
    /// store has for good what was recorded in this turn of the loop.
    func forgetPart(of owner: ContentOwner)
    /// A put that is under way is not waited for any more, as its place may be away for long: it
    /// throws, and the part stays.
    func giveUpPut(of owner: ContentOwner)
    /// Other machines go on with a tenant: nothing more is put of it, and of what was sent ahead of
    /// its downloads this machine removes nothing any more, nor remembers it.
    ///
    /// - Parameters:
    ///   - tenant: whose downloads they are.
    ///   - tasks: those of its tasks that were under way.
    func letGo(of tenant: TenantID, _ tasks: [TaskID])
    /// Where other machines may have got what this one has; nil where there are none.
    var claim: (any ContentClaim)? { get nonmutating set }
    /// Brings what has come of a content to where other machines find it, but for what was sent
    /// ahead: `takePart` brings it back, and `removeDamaged` where it is a staged file's. Once that
    /// is recorded, `forgetPart` removes what is here. Nothing where there is no such place.
    ///
    /// - Parameters:
    ///   - entry: one of this machine's, which nobody works on.
    ///   - checkpoint: what a task's record tells of its part; nil for what is none of a task that
    ///     goes on.
    ///   - tenant: whose it is.
    /// - Returns: the series in which it is there, which the record must tell; nil for none.
    /// - Throws: `FileError`.
    func handOver(
        _ entry: ContentEntry, of checkpoint: DownloadCheckpoint?, in tenant: TenantID
    ) async throws -> Int64?
    /// Holds the records of staged files against what is here, and removes what is less than its
    /// record says. A whole file whose record is that of a part is made a part again.
    func removeDamaged(among files: [StagedFile]) async -> StagedFindings
    /// The gateway stops: what waits for a place that cannot be reached waits no longer.
    func stopWaiting()
}

extension ContentStore {
    /// Nothing waits on this machine.
    public func stopWaiting() {}

    /// There is no other machine.
    public func handOver(
        _ entry: ContentEntry, of checkpoint: DownloadCheckpoint?, in tenant: TenantID
    ) async throws -> Int64? { nil }

    /// There is no other machine.
    public func sendAhead(
        _ point: ResumePoint, of task: TaskID, for tenant: TenantID, in series: Int64?
    ) -> Int64? { nil }

    /// There is no other machine.
    public func forgetAhead(of task: TaskID, in series: Int64?) {}

    /// There is no other machine.
    public var claim: (any ContentClaim)? {
        get { nil }
        nonmutating set {}
    }

    /// What is put is the part itself.
    public func forgetPart(of owner: ContentOwner) {}

    /// What is here is not away.
    public func owesRemoval(of content: ContentName) -> Bool { false }

    /// Nothing that is put takes long.
    public func giveUpPut(of owner: ContentOwner) {}

    /// There is no other machine.
    public func letGo(of tenant: TenantID, _ tasks: [TaskID]) {}

    /// Removes what there is of a content some time; what stays is swept up.
    func discard(_ content: ContentName, behind lane: Int? = nil) {
        discard(content, behind: lane, then: nil)
    }

    /// A whole content that must be there, to be read.
    ///
    /// - Throws: `FileError`, also where there is none.
    func openKnown(_ name: ContentName) async throws -> any OpenContent {
        guard let content = try await open(name) else { throw FileError("open", code: ENOENT) }
        return content
    }
}

/// What has become of staged files that were held against what is here.
public struct StagedFindings: Sendable {
    /// Those of which there is what their records say.
    public var sound: [StagedFile] = []
    /// Those that were removed, as there was less.
    public var removed: [StagedFile] = []
    /// Why nothing is known of the others: a `FileError`, the first one. Nil where there are none.
    public var failure: (any Error)?

    /// Nothing is known yet.
    public init() {}

    /// Takes note of whether a file is sound, or of why that is not known.
    mutating func note(_ file: StagedFile, _ isSound: Result<Bool, any Error>) {
        switch isSound {
        case .success(true): sound.append(file)
        case .success(false): removed.append(file)
        case .failure(let error): failure = failure ?? error
        }
    }
}

/// A whole content that is open: it can be read to its end though it is removed meanwhile.
@LoopActor
public protocol OpenContent: AnyObject, Sendable {
    /// Its length in bytes.
    var length: Int64 { get }
    /// At most `count` bytes from `offset`; fewer only at the end.
    ///
    /// - Throws: `FileError`.
    func read(at offset: Int64, count: Int) async throws -> [UInt8]
    /// Fills a block with `count` bytes from `offset` on: for one who reads ahead. What is asked
    /// for so comes in the order in which it was asked for.
    ///
    /// - Parameters:
    ///   - block: takes the bytes, and is nobody else's until the completion.
    ///   - offset: where they begin.
    ///   - count: how many there must be, at most the block's capacity.
    ///   - completion: hears that they are there, or why not: fewer are an error too.
    func read(
        into block: FileBlock, at offset: Int64, count: Int,
        then completion: @escaping @LoopActor (Result<Void, any Error>) -> Void)
    /// Fills the buffer from `offset` on, from memory alone.
    ///
    /// - Returns: how many bytes there were; nil where something would have to be waited for.
    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int?
}

/// A content on this machine that has come whole, and is to be kept.
public struct FinishedPart: Sendable {
    /// Whose it is.
    public let owner: ContentOwner
    /// Its length in bytes. The file may be longer.
    public let length: Int64
    /// The file as its spool has written it.
    let file: ContentFile
    /// Where the spool's file work is done.
    let lane: Int
    /// The series that it is put in; nil for none.
    public internal(set) var series: Int64?
    /// Bytes of it that are in the place already.
    public internal(set) var ahead: [Stretch] = []

    /// By what it is found once it is put.
    public var name: ContentName { ContentName(owner, in: series) }

    /// Bytes of it, for a store that sends them elsewhere; blocks, and belongs on a file thread.
    ///
    /// - Throws: `FileError`.
    public func read(at offset: Int64, count: Int) throws -> [UInt8] {
        try file.read(at: offset, count: count)
    }

    /// The bytes of a range, which must be there, as `read(at:count:)`.
    public func read(_ range: Range<Int64>) throws -> [UInt8] {
        try read(at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
    }

    /// Makes the file as long as the content is, and returns when the disk has it for good, so that
    /// nothing is lost while a place elsewhere cannot be reached. Blocks.
    ///
    /// - Throws: `FileError`, also where the file was removed.
    func settle() throws { try file.settle(length: length) }
}

/// Whose content it is.
public enum ContentOwner: Hashable, Sendable {
    /// The content of a task.
    case task(TaskID)
    /// A staged file.
    case file(FileID)
    /// The content of a stored response.
    case entry(CacheEntryID)

    /// The owner of a name; nil where it is none's.
    public init?(_ name: String) {
        guard
            let owner = TaskID(name).map(ContentOwner.task)
                ?? FileID(name).map(ContentOwner.file)
                ?? CacheEntryID(name).map(ContentOwner.entry)
        else { return nil }
        self = owner
    }

    /// Its name.
    public var id: any Identifier {
        switch self {
        case .task(let id): id
        case .file(let id): id
        case .entry(let id): id
        }
    }
}

/// What of a content it is; the raw value ends its name.
public enum ContentKind: String, CaseIterable, Sendable {
    /// All of it, which never changes again.
    case whole = ""
    /// What has come of it.
    case part = ".part"
    /// What had come of a download that ended early (S-34).
    case kept = ".kept"
    /// What a node has sent to the place of whole contents before it had all of it: stretches of
    /// downloads, and uploads that are not complete.
    case ahead = ".ahead"
}

/// What a `ContentStore` has of a content.
public struct ContentEntry: Sendable {
    /// Whose it is.
    public let owner: ContentOwner
    /// What of the content it is.
    public let kind: ContentKind
    /// Of one that is `whole`, its series; nil for none.
    public let series: Int64?
    /// When it was last changed: of one that is `kept`, since when it is.
    public let modified: KeptTime
    /// Of one that is `kept`, the tenant that it was kept for, where that is known.
    public let tenant: TenantID?
    /// How many bytes it takes; holes take none.
    public let length: Int64

    /// What a store tells of.
    public init(
        owner: ContentOwner, kind: ContentKind, series: Int64? = nil, modified: KeptTime,
        tenant: TenantID?, length: Int64
    ) {
        self.owner = owner
        self.kind = kind
        self.series = series
        self.modified = modified
        self.tenant = tenant
        self.length = length
    }

    /// By what it is found where it is whole.
    public var name: ContentName { ContentName(owner, in: series) }
}
