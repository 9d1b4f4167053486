public import Loop
public import Semantics

/// A place beside this machine's data folder where contents are kept that are whole: what a
/// `SplitContentStore` asks of it.
///
/// Errors are `FileError`s, and those of a place that cannot be reached are `isAway`.
@LoopActor
public protocol WholeContents: AnyObject, Sendable {
    /// The mark that a gateway has left here; nil where there is none.
    ///
    /// - Throws: `UnusablePlace`.
    func mark() async throws -> String?
    /// Leaves a mark, by which the place is known again: 1 to 100 letters, digits and hyphens.
    ///
    /// - Throws: `UnusablePlace`, also where nothing can be written.
    func setMark(_ mark: String) async throws
    /// Whether there is no content here, in a place without a mark too.
    ///
    /// - Throws: `UnusablePlace`.
    func isEmpty() async throws -> Bool
    /// Forgets what an earlier process has begun here and not ended. For a place that no other
    /// gateway writes to at the moment, once it is known by its mark.
    func forgetOldWork() async
    /// Puts a whole content into its place, in which it can be opened; there for good when it
    /// returns. What was there of that name is replaced.
    ///
    /// - Parameters:
    ///   - part: the content, with its name.
    ///   - isWanted: asked now and then; the call may end with any error where it is not.
    /// - Throws: `FileError`; one that is `isForLater` has put nothing, and the call may be made
    ///   again.
    func put(_ part: FinishedPart, while isWanted: @LoopActor () -> Bool) async throws
    /// As `ContentStore.open`.
    func open(_ content: ContentName) async throws -> (any OpenContent)?
    /// As `ContentStore.copy`.
    func copy(_ source: ContentName, to target: ContentName) async throws
    /// Removes contents; nothing is fine too. Who has opened one can read it to its end.
    ///
    /// - Throws: `FileError`, the first one; what could be removed is.
    func remove(_ contents: [ContentName]) async throws
    /// Contents that were to go when their last readers have gone, and could not be removed then.
    var leftBehind: Set<ContentName> { get }
    /// The length of a content in bytes; nil where there is none, of a place that has its mark.
    ///
    /// - Throws: `FileError`.
    func length(of content: ContentName) async throws -> Int64?
    /// All contents here, in no order, and what was sent ahead: one entry for each owner that has
    /// any, with the newest of it. What was left half done is removed.
    ///
    /// - Throws: `FileError`.
    func list() async throws -> [ContentEntry]
    /// How long the stretches are that are sent ahead of a content of `total` bytes, or of unknown
    /// length: a multiple of `FileBlock.alignment`.
    func stretchLength(of total: Int64?) -> Int64
    /// Keeps bytes of a content that is not whole yet; there for good when it returns.
    ///
    /// - Parameters:
    ///   - stretch: which they are. One that begins at the same byte is replaced.
    ///   - read: reads them; blocks, and belongs on a file thread.
    ///   - isWanted: asked once they have been read: what is not wanted by then is not kept.
    /// - Throws: `FileError`.
    func put(
        _ stretch: Stretch, _ read: @escaping @Sendable () throws -> [UInt8],
        while isWanted: @LoopActor () -> Bool
    ) async throws
    /// What there is of a task's download, in no order; of a place that has its mark.
    ///
    /// - Throws: `FileError`.
    func stretches(of task: TaskID) async throws -> [Stretch]
    /// The bytes of a stretch, as many as it has.
    ///
    /// - Throws: `FileError`, also where it is gone.
    func read(_ stretch: Stretch) async throws -> [UInt8]
    /// Removes stretches; those that are not there are fine too.
    ///
    /// - Throws: `FileError`, the first one; what could be removed is.
    func remove(_ stretches: [Stretch]) async throws
    /// Forgets puts of an owner's contents that were begun and not ended, by whomever.
    ///
    /// - Throws: `FileError`.
    func forgetUploads(of owner: ContentOwner) async throws
    /// The gateway stops: what waits for a place that cannot be reached waits no longer.
    func stopWaiting()
}

extension WholeContents {
    /// What is removed is gone at once.
    public var leftBehind: Set<ContentName> { [] }
}

/// A place for contents cannot be used.
public struct UnusablePlace: Error, CustomStringConvertible {
    /// A sentence for the operator, with what to do about it.
    public let description: String
    /// Whether it may be usable later, without anybody's doing.
    public let isAway: Bool

    /// - Parameters:
    ///   - description: the sentence.
    ///   - isAway: whether it may be usable later, without anybody's doing.
    public init(_ description: String, isAway: Bool = false) {
        self.description = description
        self.isAway = isAway
    }
}
