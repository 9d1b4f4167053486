internal import Files
internal import Loop
internal import Semantics

/// The file of a content that comes, and the lane on which its work is done in order.
@LoopActor
struct SpooledFile {
    let content: ContentFile
    let lane: Int
    private let spools: Spools

    /// A file of which nothing is opened yet; nil for a lane of its own.
    init(_ content: ContentFile, lane: Int?, of spools: Spools) {
        self.content = content
        self.lane = lane ?? spools.files.makeLane()
        self.spools = spools
    }

    /// Write to it.
    var files: FileThreads { spools.files }

    /// What there is on its disk.
    var room: DiskRoom { spools.room }

    /// A queue of blocks to it.
    func makeQueue(takesDigest: Bool) -> BlockQueue {
        BlockQueue(to: self, takesDigest: takesDigest)
    }

    /// What it has between the last multiple of the alignment and `offset`: for a writer that goes
    /// on there.
    /// - Throws: `FileError`.
    func head(of offset: Int64) async throws -> [UInt8] {
        let count = Int(offset % Int64(FileBlock.alignment))
        guard count > 0 else { return [] }
        // On the lane: behind the block that has it, if that is still on its way.
        let head = try await files.runOpening(on: lane) { [content] in
            try content.read(at: offset - Int64(count), count: count)
        }
        guard head.count == count else { throw FileError("pread", code: 0) }
        return head
    }

    /// Bytes from `offset`, at most `count`, which the disk has.
    /// - Throws: `FileError`, also for no byte at all.
    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        let bytes = try await files.runOpening { [content] in
            try content.read(at: offset, count: count)
        }
        // A file that is shorter than it was would be read for ever.
        guard !bytes.isEmpty else { throw FileError("pread", code: 0) }
        return bytes
    }

    /// Returns when the disk has for good what it has taken until now.
    /// - Throws: `FileError`.
    func sync() async throws {
        try await files.runOpening(on: lane) { [content] in try content.sync() }
    }

    /// Puts it into its place, durable.
    ///
    /// - Parameters:
    ///   - length: of the content.
    ///   - digest: taken of the whole file, where it was not taken of the blocks as they came.
    ///   - isGivenUp: whether a file for which there is no descriptor, or whose place cannot
    ///     be reached, is an error; else it is tried again in a while.
    /// - Returns: the digest, if one was asked for, and the series in which it was put.
    /// - Throws: `FileError`.
    func finish(
        length: Int64, missing digest: (any RunningDigest)?, isGivenUp: () -> Bool
    ) async throws -> (digest: [UInt8]?, series: Int64?) {
        var missing = digest
        while true {
            do {
                if let digest = missing {
                    try await files.run(on: lane) { [content] in
                        try content.digestWhole(length: length, by: digest)
                    }
                    missing = nil
                }
                let series = try await put(length)
                return (content.digestValue, series)
            } catch let error as FileError where error.isForLater && !isGivenUp() {
                await LoopActor.nextTurn(
                    after: error.isAway ? Self.placeInterval : Self.descriptorInterval)
                if isGivenUp() { throw error }
            }
        }
    }

    private func put(_ length: Int64) async throws -> Int64? {
        guard let owner = content.owner else {
            try await files.run(on: lane) { [content] in try content.finish(length: length) }
            return nil
        }
        return try await spools.contents.put(
            FinishedPart(owner: owner, length: length, file: content, lane: lane))
    }

    /// After a failure: makes the file a part again, if it is not one, of which the disk has for
    /// good what it has taken, where `syncs`.
    /// - Throws: `FileError`.
    func salvage(syncs: Bool) async throws {
        try await files.run(on: lane) { [content] in
            try content.reopen()
            if syncs { try content.sync() }
        }
    }

    /// How long the end of a file waits before it asks for a descriptor again.
    private static let descriptorInterval = Duration.milliseconds(100)
    /// How long it waits for a place that it has asked for a while already.
    private static let placeInterval = Duration.seconds(1)

    /// Removes it, and what was put of it in a series, behind what has been handed to it; one that
    /// stays is swept up later.
    func discard(putIn series: Int64?) {
        guard let owner = content.owner else { return }
        spools.contents.discard(ContentName(owner, in: series), behind: lane)
    }
}
