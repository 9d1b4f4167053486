internal import DequeModule
internal import Diagnostics
internal import Files
internal import Glibc
internal import Loop
internal import Semantics

/// Sends stretches of downloads to the place of whole contents while they are fetched, so that
/// another node goes on behind them where this one is lost.
///
/// What is there is told by the place alone; a task's record tells which series counts. A node that
/// does not know yet that it was taken for lost can send to a series what another one relies on,
/// but only the same bytes; and it removes nothing (`ContentClaim`).
@LoopActor
final class SentAhead {
    /// The stretches of one download.
    private final class Download {
        let task: TaskID
        let tenant: TenantID
        let series: Int64
        /// How long a stretch is.
        let length: Int64
        /// What is on this machine for good.
        var point: ResumePoint
        /// What the place has, by where it begins.
        var there: [Int64: Stretch] = [:]
        /// What is to be sent, the first of it last.
        var due: [Range<Int64>] = []
        /// Where what is being sent begins.
        var underWay: Set<Int64> = []
        var isQueued = false
        /// Whether it is whole, or is to go on elsewhere.
        var isSettled = false
        /// Whether anything more is sent, and kept.
        var isWanted = true
        /// Whether what comes to the place all the same is removed: not where another machine may
        /// rely on it.
        var isForgotten = false
        var waiters = Waiters()

        init(
            of task: TaskID, for tenant: TenantID, in series: Int64, length: Int64,
            point: ResumePoint
        ) {
            self.task = task
            self.tenant = tenant
            self.series = series
            self.length = length
            self.point = point
        }

        func stretch(_ range: Range<Int64>) -> Stretch { Stretch(of: task, in: series, range) }

        func has(_ range: Range<Int64>) -> Bool { there[range.lowerBound]?.range == range }

        /// What of the point is in no stretch yet; only whole stretches are worth it before the
        /// end.
        func missing(wholeOnly: Bool) -> [Range<Int64>] {
            point.received.flatMap { $0.stretches(of: length, wholeOnly: wholeOnly) }.filter {
                !has($0) && !underWay.contains($0.lowerBound)
            }
        }
    }

    private let place: any WholeContents
    private let folder: ContentFolder
    private let files: FileThreads
    private var downloads: [TaskID: Download] = [:]
    /// Whose turn it is, one stretch each.
    private var waiting = Deque<Download>()
    private var senders = 0
    private var readers = 0
    private var waitingReaders = Waiters()
    private var isStopped = false
    /// Whether the last stretch could not be sent, which was told.
    private var isFailing = false
    var claim: (any ContentClaim)?
    private let log = Log("engine.ahead")
    /// Stretches that are sent at a time, of all downloads.
    private static let senderLimit = 4
    /// Stretches that are brought here at a time, of all downloads.
    private static let readerLimit = 4
    /// The longest stretches that are sent: they are in memory meanwhile.
    private static let longest: Int64 = 64 << 20
    /// How long a sender rests after a failure.
    private static let rest = Duration.seconds(10)

    nonisolated init(to place: any WholeContents, from folder: ContentFolder, files: FileThreads) {
        self.place = place
        self.folder = folder
        self.files = files
    }

    // MARK: While it is fetched

    /// As `ContentStore.sendAhead`.
    func note(
        _ point: ResumePoint, of task: TaskID, for tenant: TenantID, in series: Int64?
    ) -> Int64? {
        let download: Download
        if let known = downloads[task], known.series == series {
            download = known
            download.point = point
            download.isSettled = false
        } else {
            let length = place.stretchLength(of: point.total)
            guard length <= Self.longest,
                series != nil || point.received.contains(where: { $0.hasStretch(of: length) })
            else { return nil }
            forget(task)
            download = Download(
                of: task, for: tenant, in: series ?? .random(in: 1 ... .max), length: length,
                point: point)
            downloads[task] = download
        }
        download.due = download.missing(wholeOnly: true).reversed()
        enqueue(download)
        while senders < Self.senderLimit, !waiting.isEmpty {
            senders += 1
            LoopActor.start { [self] in await send() }
        }
        return download.series
    }

    private func enqueue(_ download: Download) {
        guard !download.isQueued, !download.isSettled, !download.due.isEmpty else { return }
        download.isQueued = true
        waiting.append(download)
    }

    /// Sends what is due, one stretch of each download in turn, until nothing is.
    private func send() async {
        defer { senders -= 1 }
        while !isStopped, !waiting.isEmpty {
            let download = waiting.removeFirst()
            download.isQueued = false
            guard download.isWanted, !download.isSettled, let range = download.due.popLast() else {
                continue
            }
            enqueue(download)
            do {
                try await send(range, of: download)
                isFailing = false
            } catch {
                guard download.isWanted, !download.isSettled, !isStopped else { continue }
                if !isFailing {
                    log.write(
                        .warning,
                        "what comes of downloads cannot be sent ahead: it is tried again",
                        ["error": .words("\(error)")])
                }
                isFailing = true
                await LoopActor.nextTurn(after: Self.rest)
                // It may have been sent meanwhile, or be on its way.
                download.due = download.missing(wholeOnly: true).reversed()
                enqueue(download)
            }
        }
    }

    private func send(_ range: Range<Int64>, of download: Download) async throws {
        let stretch = download.stretch(range)
        download.underWay.insert(range.lowerBound)
        defer {
            download.underWay.remove(range.lowerBound)
            if download.isForgotten { remove([stretch]) }
            download.waiters.wakeAll()
        }
        // Opened anew for each: a part that begins anew is another file.
        let part = ContentFile(continuing: .task(download.task), in: folder, digest: nil)
        try await place.put(stretch) {
            let count = Int(range.upperBound - range.lowerBound)
            let bytes = try part.read(at: range.lowerBound, count: count)
            guard bytes.count == count else { throw FileError("pread", code: 0) }
            return bytes
        } while: {
            download.isWanted
        }
        download.there[range.lowerBound] = stretch
    }

    // MARK: The end

    /// Nothing more is sent of a download that is whole, or is to go on elsewhere.
    func rest(_ task: TaskID) { downloads[task]?.isSettled = true }

    /// What the place has of a download of which nothing more is sent.
    func settled(_ task: TaskID) async -> [Stretch] {
        rest(task)
        guard let download = downloads[task] else { return [] }
        while !download.underWay.isEmpty {
            await withCheckedContinuation { download.waiters.add($0) }
        }
        return Array(download.there.values)
    }

    /// Sends all that there is of a download which goes on at another node, also where nothing of
    /// it was worth it before.
    ///
    /// - Parameters:
    ///   - checkpoint: what the task's record tells of its part.
    ///   - tenant: whose task it is.
    /// - Returns: the series that the record must tell.
    /// - Throws: `FileError`.
    func sendRest(_ checkpoint: DownloadCheckpoint, of tenant: TenantID) async throws -> Int64 {
        let task = checkpoint.part
        let stretches: [Stretch]
        if downloads[task] == nil, let series = checkpoint.series {
            stretches = try await there(task, in: series)
        } else {
            stretches = []
        }
        let download = take(checkpoint, of: tenant, stretches)
        _ = await settled(task)
        download.point = checkpoint.point
        for range in download.missing(wholeOnly: false) { try await send(range, of: download) }
        return download.series
    }

    /// What was sent of a download that has ended, or begins anew, is removed.
    func forget(_ task: TaskID) {
        guard let download = downloads.removeValue(forKey: task) else { return }
        download.isWanted = false
        download.isForgotten = true
        remove(Array(download.there.values))
    }

    /// The same for one that may have been sent by another node, or process.
    func forget(_ task: TaskID, in series: Int64) {
        guard downloads[task] == nil else { return forget(task) }
        removing { [place] in
            let all = try await place.stretches(of: task)
            try await place.remove(all.filter { $0.series == series })
        }
    }

    /// Nothing more is sent of a tenant's downloads, those that rest among them, and nothing is
    /// removed: others rely on it.
    func letGo(of tenant: TenantID) {
        for download in downloads.values where download.tenant == tenant {
            download.isWanted = false
            downloads[download.task] = nil
        }
    }

    /// How many downloads something is known of; for tests.
    var count: Int { downloads.count }

    /// Removes what belongs to a task that is not under way, and uploads that nobody ends.
    func sweep(_ owner: ContentOwner) {
        removing { [place] in
            if case .task(let task) = owner {
                try await place.remove(try await place.stretches(of: task))
            }
            try await place.forgetUploads(of: owner)
        }
    }

    private func remove(_ stretches: [Stretch]) {
        guard !stretches.isEmpty else { return }
        removing { [place] in try await place.remove(stretches) }
    }

    private func removing(_ body: @escaping @LoopActor () async throws -> Void) {
        LoopActor.start { [self] in
            // What this turn has to record is recorded by then.
            await LoopActor.nextTurn()
            if let claim, await !claim.settled() { return }
            do {
                try await body()
            } catch {
                guard !isStopped else { return }
                log.write(
                    .warning, "what was sent ahead stays until housekeeping removes it",
                    ["error": .words("\(error)")])
            }
        }
    }

    /// The gateway stops: nothing more is sent.
    func stop() { isStopped = true }

    // MARK: Going on

    /// Learns what is there of a download that goes on with a part of this machine: it was sent by
    /// an earlier process.
    func learn(_ checkpoint: DownloadCheckpoint, of tenant: TenantID) async {
        guard let series = checkpoint.series, downloads[checkpoint.part] == nil else { return }
        do {
            take(checkpoint, of: tenant, try await there(checkpoint.part, in: series))
        } catch {
            log.write(
                .info, "what was sent ahead of a download is not known: it is sent again",
                ["task": .name("\(checkpoint.part)"), "error": .words("\(error)")])
        }
    }

    /// Brings what is there of a download to this machine, as its part.
    ///
    /// - Parameters:
    ///   - checkpoint: what the task's record tells of.
    ///   - tenant: whose task it is.
    ///   - note: as that of `ContentStore.takePart`.
    /// - Returns: what is here by now; nil where nothing is there.
    /// - Throws: `FileError`.
    func bring(
        _ checkpoint: DownloadCheckpoint, of tenant: TenantID,
        noting note: @LoopActor (DownloadCheckpoint) async -> Bool
    ) async throws -> DownloadCheckpoint? {
        // Where somebody has removed what was listed, what is left may still be worth it, once.
        for _ in 0..<2 {
            do {
                return try await bringListed(checkpoint, of: tenant, noting: note)
            } catch is Vanished {
                continue
            }
        }
        return nil
    }

    private func bringListed(
        _ checkpoint: DownloadCheckpoint, of tenant: TenantID,
        noting note: @LoopActor (DownloadCheckpoint) async -> Bool
    ) async throws -> DownloadCheckpoint? {
        guard let series = checkpoint.series else { return nil }
        let stretches = try await there(checkpoint.part, in: series)
        guard let point = checkpoint.point.having(stretches.map(\.range)) else { return nil }
        let found = DownloadCheckpoint(point: point, part: checkpoint.part, series: series)
        // First: a part that ends where the record says must have everything in front of it.
        if !point.covers(checkpoint.point), await !note(found) {
            throw FileError("open", code: ESTALE)
        }
        try await write(stretches)
        take(found, of: tenant, stretches)
        return found
    }

    /// A stretch that was listed is not there, or is not what it was listed as.
    private struct Vanished: Error {}

    /// In their order, without those that are within another one: a hole in front of them was
    /// filled since they were sent, and written behind that they would pad what follows them with
    /// zeros.
    private func there(_ task: TaskID, in series: Int64) async throws -> [Stretch] {
        let all = try await place.stretches(of: task).filter {
            $0.series == series && $0.range.lowerBound % Int64(FileBlock.alignment) == 0
        }
        var end: Int64 = 0
        return all.sorted { $0.range.lowerBound < $1.range.lowerBound }.filter { stretch in
            guard stretch.range.upperBound > end else { return false }
            end = stretch.range.upperBound
            return true
        }
    }

    /// What is known of a download; of one that is new these stretches.
    @discardableResult
    private func take(
        _ checkpoint: DownloadCheckpoint, of tenant: TenantID, _ stretches: [Stretch]
    ) -> Download {
        if let known = downloads[checkpoint.part] { return known }
        let length = min(place.stretchLength(of: checkpoint.point.total), Self.longest)
        let download = Download(
            of: checkpoint.part, for: tenant, in: checkpoint.series ?? .random(in: 1 ... .max),
            length: length, point: checkpoint.point)
        for stretch in stretches { download.there[stretch.range.lowerBound] = stretch }
        downloads[checkpoint.part] = download
        return download
    }

    /// Writes stretches, in their order, as the part of their task.
    private func write(_ stretches: [Stretch]) async throws {
        guard let task = stretches.first?.task else { return }
        let part = ContentFile(at: .named(folder, .task(task)), digest: nil)
        let lane = files.makeLane()
        do {
            for stretch in stretches { try await write(stretch, to: part, on: lane) }
            try await files.run(on: lane) { try part.sync() }
        } catch {
            // It has less than the record tells of.
            try? await files.run(on: lane) { [folder] in try folder.remove(task, .part) }
            throw error
        }
    }

    private func write(_ stretch: Stretch, to part: ContentFile, on lane: Int) async throws {
        while readers == Self.readerLimit {
            await withCheckedContinuation { waitingReaders.add($0) }
        }
        readers += 1
        defer {
            readers -= 1
            waitingReaders.wakeAll()
        }
        guard !Task.isCancelled else { throw FileError("read", code: ECANCELED) }
        let bytes: [UInt8]
        do {
            bytes = try await place.read(stretch)
        } catch let error as FileError where error.code == ENOENT {
            // Nothing else says that it is gone.
            throw Vanished()
        }
        guard bytes.count == Int(stretch.range.upperBound - stretch.range.lowerBound) else {
            throw Vanished()
        }
        try await files.runOpening(on: lane) {
            try part.write(bytes, at: stretch.range.lowerBound)
        }
    }
}

extension Range<Int64> {
    /// Pieces of a range, each within a stretch: those between multiples of a length, or only those
    /// that are as long as that.
    fileprivate func stretches(of length: Int64, wholeOnly: Bool) -> [Range<Int64>] {
        var pieces: [Range<Int64>] = []
        var start = lowerBound
        while start < upperBound {
            let end = Swift.min(upperBound, (start / length + 1) * length)
            if !wholeOnly || end - start == length { pieces.append(start..<end) }
            start = end
        }
        return pieces
    }

    /// Whether a stretch of a length is within.
    fileprivate func hasStretch(of length: Int64) -> Bool {
        (lowerBound + length - 1) / length * length + length <= upperBound
    }
}
