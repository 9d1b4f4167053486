public import Files
public import Loop
public import Semantics

/// What the engine asks of the folders of this machine that downloads can be saved in.
///
/// A file is first *staged*: whole and durable, under a temporary name beside its later one. Then
/// it is *published*, which is one rename. So whoever looks into the folder sees a whole file or
/// none, and what a crash leaves can be told by the file's number.
@LoopActor
public protocol SaveFolders: Sendable {
    /// The names that the operator has given, in order.
    nonisolated var names: [String] { get }
    /// Finds out whether a file could be saved, as far as that can be known before it is there.
    ///
    /// - Parameters:
    ///   - destination: where.
    ///   - length: how many bytes are expected; nil where nobody knows.
    /// - Throws: `SaveFault`.
    func check(_ destination: SaveDestination, length: Int64?) async throws(SaveFault)
    /// Brings a content into the folder, under a temporary name; missing folders are made.
    ///
    /// - Returns: the file, with the path that was asked for.
    /// - Throws: `SaveFault`.
    func stage(
        _ source: SaveSource, of task: TaskID, for destination: SaveDestination
    ) async throws(SaveFault) -> SavedFile
    /// Gives a staged file its name; there for good when it returns.
    ///
    /// - Returns: the file, with the path that it got.
    /// - Throws: `SaveFault`.
    func publish(
        _ file: SavedFile, of task: TaskID, at destination: SaveDestination
    ) async throws(SaveFault) -> SavedFile
    /// What has become of a file that was staged before the last process ended.
    ///
    /// - Throws: `SaveFault`, where that cannot be told.
    func find(
        _ file: SavedFile, of task: TaskID, at destination: SaveDestination
    ) async throws(SaveFault) -> SaveStage
    /// Removes a staged file; nothing is fine too.
    func discard(_ task: TaskID, for destination: SaveDestination)
    /// Opens a file that was published, if it is still the same one.
    ///
    /// - Returns: nil where it was changed, moved or removed.
    func open(_ file: SavedFile, in folder: String, length: Int64) async -> (any OpenContent)?
}

/// What is saved.
public enum SaveSource: Sendable {
    case bytes([UInt8])
    /// A content of a `ContentStore`; the owner, where a second name can be given to it.
    case content(any OpenContent, ContentOwner?)
}

/// How far a file has come.
public enum SaveStage: Sendable, Equatable {
    case staged
    case published(SavedFile)
    case gone
}

/// Why a file cannot be saved.
public enum SaveFault: Error, Sendable, Equatable {
    /// The operator's folder is not there.
    case noFolder
    /// The name is a file's already.
    case exists
    /// The name is a folder's already.
    case isFolder
    /// Something on the path is no folder, or is a symbolic link.
    case notAFolder
    case noRoom
    /// The content cannot be read where it is.
    case unreadable(StoreError)
    case file(FileError)

    /// What the task fails with.
    func error(for destination: SaveDestination) -> TransferError {
        let place = "\(destination.path) in the folder \(destination.folder)"
        return switch self {
        case .noFolder:
            .url(
                .cannotCreateFile,
                message: "The folder \(destination.folder) does not exist on the gateway.")
        case .exists:
            .url(.cannotCreateFile, message: "There is a file already at \(place).")
        case .isFolder:
            .url(.cannotCreateFile, message: "There is a folder already at \(place).")
        case .notAFolder:
            .url(
                .fileOutsideSafeArea,
                message:
                    "On the way to \(place) is a symbolic link, or something that is no folder.")
        case .noRoom:
            .url(
                .cannotWriteToFile,
                message: "The disk of the folder \(destination.folder) has no room for the file.")
        case .unreadable:
            .url(
                .cannotWriteToFile,
                message: "The content cannot be saved at \(place): it cannot be read.")
        case .file(let error):
            .url(
                .cannotWriteToFile,
                message: "The content cannot be saved at \(place): \(error.words).",
                underlying: TransferError.Underlying(
                    layer: .system, code: Int(error.code), message: error.words))
        }
    }
}
