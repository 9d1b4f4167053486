public import Semantics

/// By what a whole content is found in its place: whose it is, and which of those that were put of
/// that owner.
///
/// Where several nodes share a place, each put has a series of its own, which the owner's record
/// tells of: so what a node puts that was taken for lost, and does not know it, replaces nothing,
/// however late it comes. Housekeeping removes what no record tells of.
public struct ContentName: Hashable, Sendable {
    /// Whose content it is.
    public let owner: ContentOwner
    /// Drawn for one put; nil where one gateway alone has the place, and in records from before
    /// there were series.
    public let series: Int64?

    /// A name from its parts.
    public init(_ owner: ContentOwner, in series: Int64? = nil) {
        self.owner = owner
        self.series = series
    }

    /// A name below a place that is laid out as a `ContentFolder`, behind its last slash; nil for
    /// one of no whole content.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let owner = ContentOwner(String(parts[0])) else { return nil }
        self.owner = owner
        guard parts.count == 2 else {
            series = nil
            return
        }
        guard let series = Int64(parts[1]) else { return nil }
        self.series = series
    }

    /// The content of a task.
    public static func task(_ id: TaskID, in series: Int64? = nil) -> ContentName {
        ContentName(.task(id), in: series)
    }

    /// A staged file.
    public static func file(_ id: FileID, in series: Int64? = nil) -> ContentName {
        ContentName(.file(id), in: series)
    }

    /// The content of a stored response, whose id no other one ever has.
    public static func entry(_ id: CacheEntryID) -> ContentName { ContentName(.entry(id)) }

    /// Where it lies below a place that is laid out as a `ContentFolder`.
    public var path: String {
        ContentFolder.name(of: owner.id) + (series.map { ".\($0)" } ?? "")
    }
}

extension StagedFile {
    /// By what the bytes of a file are found that are whole.
    var content: ContentName { .file(id, in: series) }
}

extension TaskRecord {
    /// By what the content of a task is found, where that is in a file.
    var contentName: ContentName { .task(self.id, in: self.content?.series) }
}
