internal import Files
internal import Glibc
public import Loop
public import Semantics

/// Copies what a gateway that has ended has in its own folder to a place of whole contents, for
/// nodes that go on with its records, and looks at all of it there. In the folder nothing changes.
///
/// What is whole is put under the name that its record tells, and so is what has come of a staged
/// file, or was kept of a download that has ended. Of a download that goes on stretches are sent,
/// in a series that its record has yet to tell, as by a node that hands it over.
///
/// What is in the place as it should be is not copied again, as whatever is put there never
/// changes, but for those stretches: a gateway may have fetched them anew since.
@LoopActor
public final class ContentMove {
    /// What was done.
    public struct Outcome: Sendable {
        /// Contents that were copied, stretches of a download as one.
        public var copiedCount = 0
        /// Their bytes.
        public var copiedBytes: Int64 = 0
        /// Contents that were in the place already.
        public var presentCount = 0
        /// In which series stretches of downloads are there.
        public var series: [TaskID: Int64] = [:]
        /// Downloads whose part is not here, or less than its record tells: they begin anew.
        public var lostParts = 0
        /// What is neither here nor there as its record tells, in no order.
        public var missing: [ContentOwner] = []
    }

    private enum Item {
        case named(NamedFile)
        /// The part of a download that has ended, and what it takes.
        case kept(ContentEntry, Int64)
    }

    /// A file of this machine that has all bytes of a content.
    private struct Source: Sendable {
        let path: String
        let length: Int64
    }

    private let folder: ContentFolder
    private let place: any WholeContents
    private let files: FileThreads
    private let ahead: SentAhead
    private let partsStay: Bool
    private var rest: ArraySlice<Item> = []
    private var failure: (any Error)?
    /// What was done until now.
    public private(set) var outcome = Outcome()
    /// Contents that are copied at a time.
    private static let parallelCount = 8

    /// - Parameters:
    ///   - folder: what is copied lies in it; no gateway uses it.
    ///   - place: gets it, and has its mark.
    ///   - files: read the folder.
    ///   - partsStay: whether the same folder goes on with what is not whole: that is not copied.
    public init(
        from folder: ContentFolder, to place: any WholeContents, files: FileThreads,
        partsStay: Bool = false
    ) {
        self.partsStay = partsStay
        self.folder = folder
        self.place = place
        self.files = files
        ahead = SentAhead(to: place, from: folder, files: files)
    }

    /// Copies what is not there, and the parts that were kept for downloads which resume data may
    /// begin, of which no record tells.
    ///
    /// - Parameter named: what records tell of.
    /// - Throws: `FileError`, the first one; what was copied until then stays.
    public func run(_ named: [NamedFile]) async throws {
        let kept =
            partsStay
            ? [] : try await keptParts(but: Set(named.filter { $0.kind == .whole }.map(\.owner)))
        rest = (named.map(Item.named) + kept)[...]
        let copying = (0..<Self.parallelCount).map { _ in
            LoopActor.start { [self] in await copyRest() }
        }
        for each in copying { await each.value }
        if let failure { throw failure }
    }

    /// How many contents have yet to be looked at.
    public var restCount: Int { rest.count }

    private func keptParts(but owners: Set<ContentOwner>) async throws -> [Item] {
        try await files.run { [folder] in
            try folder.entries([.kept]).compactMap { entry in
                guard !owners.contains(entry.owner), let length = try folder.length(of: entry)
                else { return nil }
                return .kept(entry, length)
            }
        }
    }

    private func copyRest() async {
        while failure == nil, let item = rest.popFirst() {
            do {
                switch item {
                case .kept(let entry, let length):
                    try await copy(
                        entry.owner, from: Source(path: folder.path(of: entry), length: length))
                case .named(let file):
                    if partsStay, file.kind == .part, try await isHere(file) { continue }
                    if case .task(let task) = file.owner, let point = file.point {
                        try await send(point, of: task)
                    } else {
                        try await copy(file)
                    }
                }
            } catch {
                failure = failure ?? error
            }
        }
    }

    /// Whether the folder's part has what a record tells of. That of a download need not: without
    /// it that begins anew, wherever.
    private func isHere(_ file: NamedFile) async throws -> Bool {
        guard case .file(let id) = file.owner else { return true }
        let length = try await files.run { [folder] in try folder.length(of: id, .part) }
        return length ?? 0 >= file.length ?? 0
    }

    private func copy(_ file: NamedFile) async throws {
        if let length = file.length,
            try await place.length(of: ContentName(file.owner)) == length
        {
            outcome.presentCount += 1
        } else if let source = try await source(of: file) {
            try await copy(file.owner, from: source)
        } else if case .entry = file.owner {
            // The file of a stored response may go before its row, of which that is no damage.
        } else {
            outcome.missing.append(file.owner)
        }
    }

    /// The file that has what a record tells of; nil where none does. That of an upload may have
    /// the name of a whole one already, and more than is counted on.
    private func source(of file: NamedFile) async throws -> Source? {
        let kinds: [ContentKind] = file.kind == .part ? [.part, .whole] : [.whole]
        return try await files.run { [folder] in
            for kind in kinds {
                guard let there = try folder.length(of: file.owner.id, kind) else { continue }
                let length = file.length ?? there
                guard file.kind == .part ? there >= length : there == length else { continue }
                return Source(path: folder.path(of: file.owner.id, kind), length: length)
            }
            return nil
        }
    }

    private func copy(_ owner: ContentOwner, from source: Source) async throws {
        let name = ContentName(owner)
        guard try await place.length(of: name) != source.length else {
            outcome.presentCount += 1
            return
        }
        let file = try await files.runOpening { [folder] in
            try ContentFile(readingAt: source.path, of: owner, in: folder)
        }
        let part = FinishedPart(
            owner: owner, length: source.length, file: file, lane: files.makeLane())
        try await place.put(part) { true }
        guard try await place.length(of: name) == source.length else {
            throw FileError("put", code: EIO)
        }
        outcome.copiedCount += 1
        outcome.copiedBytes += source.length
    }

    /// Sends what has come of a download that goes on.
    private func send(_ point: ResumePoint, of task: TaskID) async throws {
        let length = try await files.run { [folder] in try folder.length(of: task, .part) }
        guard let end = point.received.last?.upperBound, let length, length >= end else {
            outcome.lostParts += 1
            return
        }
        try await place.remove(try await place.stretches(of: task))
        // Whose it is matters to who lets go of a tenant.
        let series = try await ahead.sendRest(
            DownloadCheckpoint(point: point, part: task), of: .operatorTenant)
        let sent = try await place.stretches(of: task).filter { $0.series == series }
        guard sent.reduce(0, { $0 + Int64($1.range.count) }) == point.receivedCount else {
            throw FileError("put", code: EIO)
        }
        outcome.series[task] = series
        outcome.copiedCount += 1
        outcome.copiedBytes += point.receivedCount
    }
}
