internal import Diagnostics
internal import Files
internal import Glibc
internal import Loop
internal import Semantics

/// Hears what becomes of a download.
@LoopActor
protocol ResumableDownloadOwner: AnyObject {
    /// Of the request that goes out next.
    var requestMethod: String { get }
    /// What the record tells of a part.
    var checkpoint: DownloadCheckpoint? { get }
    /// Whether bytes may still come, or be waited for: the task is neither at its end nor on its
    /// way there.
    var isReceiving: Bool { get }
    /// Whether an attempt is under way.
    var hasLiveAttempt: Bool { get }
    /// Whether the task has ended, or is no longer this process's.
    var isOver: Bool { get }
    /// Whether the task has ended.
    var hasEnded: Bool { get }
    /// So much is on disk for good.
    func downloadIsSafe(at checkpoint: DownloadCheckpoint)
    /// Less is there than the record tells of: it tells of this, for good, when the call returns.
    func downloadGoesBack(to checkpoint: DownloadCheckpoint) async -> Bool
    /// A sync, or what comes behind it, has failed.
    func downloadIsLost(_ error: any Error, in spool: ContentSpool)
    /// So many bytes of a part are the task's own, from now on or still.
    func downloadHasPart(of count: Int64)
}

/// How a download outlives its exchange, its suspension, its task and the process: by asking for
/// the ranges that are missing, on the condition that the entity is still the same (S-32,
/// S-34…S-36; ). Of other tasks it only tells what has come.
@LoopActor
final class ResumableDownload: Ticking {
    /// The entity that is downloaded, if its parts can be asked for.
    private enum Entity {
        case known(RangedEntity?)
        /// To be found out from a response when that is first of interest, which it is not for most
        /// downloads.
        indirect case answered(ResponseRecord, method: String)
    }

    var owner: (any ResumableDownloadOwner)?
    /// What the newest attempt asks for in place of the whole.
    @BoxedIfAny private(set) var rangeRequest: RangeRequest?
    /// The ranges that are fetched side by side at the moment.
    private(set) var segments: SegmentedTransfer?
    /// Whether an answer that made no sense has been followed by a request for the whole.
    private(set) var hasBegunAnew = false
    private let task: TaskID
    private let isDownload: Bool
    private let content: TaskContent
    private let session: LiveSession
    private let services: TaskServices
    private var entity = Entity.known(nil)
    /// What the next attempt asks for, where that is decided.
    @BoxedIfAny private var plannedRange: RangeRequest?
    /// Writes what the next attempt brings, where there are holes to fill.
    private var firstWriter: BlockWriter?
    /// Where the file work of a content was done for which the disk had no room; nil once there is
    /// some.
    private var laneWithoutRoom: Int?
    /// What the spool has, where that is not all from its start on, while no ranges are being
    /// fetched.
    private var scattered: [Range<Int64>]?
    /// Ranges that were answered with less than was asked for, and little.
    private var smallAnswers = 0

    init(of task: LiveTask, into content: TaskContent) {
        self.task = task.record.id
        isDownload = task.record.type == .download
        self.content = content
        session = task.session
        services = task.services
    }

    // MARK: What has come

    /// In order.
    var receivedRanges: [Range<Int64>] {
        if let segments { return segments.received }
        if let scattered { return scattered }
        guard let length = content.spool?.length, length > 0 else { return [] }
        return [0..<length]
    }

    /// Whether another exchange could go on from what has come.
    var canBeResumed: Bool { resumePoint != nil }

    private var resumePoint: ResumePoint? { resumePoint(from: receivedRanges) }

    private func resumePoint(from received: [Range<Int64>]) -> ResumePoint? {
        guard isDownload, let owner, owner.requestMethod == "GET", let entity = rangedEntity else {
            return nil
        }
        return ResumePoint(entity: entity, received: received)
    }

    private var rangedEntity: RangedEntity? {
        switch entity {
        case .known(let entity): return entity
        case .answered(let response, let method):
            let found = RangedEntity(of: response, method: method)
            entity = .known(found)
            return found
        }
    }

    /// A response begins that what comes from now on is the content of.
    func began(_ response: ResponseRecord, to method: String) {
        entity = .answered(response, method: method)
    }

    /// The content is none that could be asked for once more.
    func isNoEntity() { entity = .known(nil) }

    /// What has come is not used: the next response begins at zero.
    func drop() {
        content.discard()
        scattered = nil
        firstWriter = nil
        entity = .known(nil)
        rangeRequest = nil
    }

    // MARK: Before an attempt

    /// What was found of what an earlier attempt, process or task has left.
    enum FoundPart {
        /// Nothing has changed.
        case asBefore
        /// It is not there any more.
        case gone
        /// It is elsewhere, and cannot be reached at the moment.
        case away
        case at(DownloadCheckpoint)
    }

    /// Whether bytes are on disk that the attempt goes on from.
    var mustFindPart: Bool {
        guard content.sink == nil else { return content.spool?.isSettled == true }
        return owner?.checkpoint != nil
    }

    /// Whether those are another download's as yet.
    var takesPartOfAnother: Bool {
        content.sink == nil && owner?.checkpoint.map { $0.part != task } == true
    }

    /// Takes up what is on disk. What cannot be found, or is not what it was, is done without.
    func findPart() async throws(TransferError) -> FoundPart {
        do {
            if let spool = content.spool {
                if spool.isSettled { try await takeUp(spool) }
            } else if content.sink == nil, let checkpoint = owner?.checkpoint {
                return try await adopt(checkpoint)
            }
            return .asBefore
        } catch let error as FileError where error.code == ECANCELED {
            return .away  // nothing waits for it any more, and nothing of it has failed
        } catch let error as FileError where error.isForLater {
            services.log.write(
                .warning, "the part of a download cannot be reached: it is tried again",
                ["task": .name("\(task)"), "error": .words("\(error)")])
            return .away
        } catch {
            throw TransferError.cannotWrite("\(error)")
        }
    }

    private func takeUp(_ spool: ContentSpool) async throws {
        guard scattered != nil else {
            try await spool.goOn()
            return
        }
        guard let gap = resumePoint?.gaps.first else { return }
        firstWriter = spool.makeWriter(
            at: gap.start, after: try await spool.head(of: gap.start))
    }

    private func adopt(_ checkpoint: DownloadCheckpoint) async throws -> FoundPart {
        let taken = try await takePart(checkpoint)
        // In the same turn as it becomes this task's: so it is never counted twice, nor not at all.
        session.account.tenant.dropPart(of: checkpoint.part)
        guard let (found, file) = taken else {
            services.log.write(
                .warning, "the part of a download is gone: it begins anew",
                ["task": .name("\(task)")])
            return .gone
        }
        guard let owner, !owner.isOver else {
            // The next process, or another node, goes on with that of one that has not ended.
            if owner?.hasEnded == true { content.discardOwnPart() }
            return .asBefore
        }
        let point = found.point
        owner.downloadHasPart(of: point.receivedCount)
        let spool = services.spools.goOn(
            with: file, length: point.prefixLength, digest: content.makeDigest())
        content.attach(spool)
        entity = .known(point.entity)
        if point.received.count > 1 || point.prefixLength == 0 { scattered = point.received }
        try await takeUp(spool)
        return .at(found)
    }

    private func takePart(
        _ checkpoint: DownloadCheckpoint
    ) async throws -> (found: DownloadCheckpoint, file: ContentFile)? {
        guard session.record.isPersistent else {
            return session.takePart(of: checkpoint.part).map {
                (DownloadCheckpoint(point: checkpoint.point, part: task), $0)
            }
        }
        guard let found = try await bringHere(checkpoint) else { return nil }
        return (found, services.spools.part(of: .task(task), digest: content.makeDigest()))
    }

    private func bringHere(
        _ checkpoint: DownloadCheckpoint
    ) async throws -> DownloadCheckpoint? {
        try await services.contents.takePart(
            of: checkpoint, in: session.record.tenant, as: task
        ) { [weak owner] in await owner?.downloadGoesBack(to: $0) ?? false }
    }

    /// What the next attempt asks for: something else than what is missing.
    func plan(_ request: RangeRequest?) { plannedRange = request }

    /// Whether the next attempt is none that a cache could answer.
    var asksForPart: Bool {
        plannedRange != nil || (content.sink == nil && owner?.checkpoint != nil) || canBeResumed
    }

    /// Decides what the attempt that is about to begin asks for: what is missing, or the whole.
    ///
    /// - Returns: false where what has come is of no use for that, and must be dropped.
    func planAttempt() -> Bool {
        rangeRequest = plannedRange
        plannedRange = nil
        guard rangeRequest == nil else { return true }
        guard !receivedRanges.isEmpty else { return content.spool == nil }
        guard let point = resumePoint else { return false }
        let gap = point.gaps.first ?? ResumePoint.Gap(start: point.prefixLength, end: nil)
        rangeRequest = RangeRequest(
            of: point.entity, from: gap.start, to: gap.end == point.total ? nil : gap.end)
        return true
    }

    // MARK: The answer

    /// An answer tells how long the entity is.
    func learn(total: Int64?, from range: RangeRequest) {
        guard range.entity.total == nil, let total else { return }
        entity = .known(RangedEntity(validators: range.entity.validators, total: total))
    }

    /// The answers to ranges make no sense: what one connection brings from zero on does.
    func beginAnew() { hasBegunAnew = true }

    /// Whether an answer that was shorter than its range may be followed by another one: not for
    /// ever, where a server gives next to nothing each time.
    func mayAskForMore(having received: Int64) -> Bool {
        let brought = received - (rangeRequest?.start ?? 0)
        if brought < ResumableDownload.decentAnswer { smallAnswers += 1 }
        return smallAnswers <= ResumableDownload.smallAnswerLimit
    }

    private static let decentAnswer: Int64 = 1 << 20
    private static let smallAnswerLimit = 16

    /// Whether the ranges that were asked for are there, but are not all.
    func isShort(having received: Int64) -> Bool {
        guard let rangeRequest, let entity = rangedEntity else { return false }
        guard let total = entity.total else { return rangeRequest.entity.total == nil }
        return received < total
    }

    // MARK: Ranges side by side

    /// Lets other connections help where that was asked for, and fills holes that earlier ones have
    /// left.
    ///
    /// - Parameters:
    ///   - connections: how many there may be.
    ///   - start: where the answer that has just begun starts in the content.
    ///   - end: where it ends; nil for the end of the content.
    ///   - common: what all connections have in common.
    ///   - isHeld: whether the task's own attempt stands still, and the others begin with it.
    ///   - meter: what the task's own attempt may take.
    ///   - listener: hears of the ranges.
    /// - Returns: whether ranges are fetched from now on.
    func splitUp(
        by connections: Int, from start: Int64, to end: Int64?,
        _ common: (RangedEntity) -> SegmentedTransfer.Common, isHeld: Bool,
        meter: @autoclosure () -> Meter, for listener: any SegmentOwner
    ) -> Bool {
        guard isDownload, !hasBegunAnew, connections > 1 || scattered != nil,
            segments == nil, let spool = content.spool, let entity = rangedEntity,
            let total = entity.total
        else { return false }
        let isWorthwhile = connections > 1 && total - start >= 2 * SegmentedTransfer.smallestSplit
        guard isWorthwhile || scattered != nil else { return false }
        let plan = SegmentPlan(
            total: total, received: receivedRanges, alignment: Int64(FileBlock.alignment),
            smallestSplit: SegmentedTransfer.smallestSplit)
        let writer = firstWriter ?? spool.splitUp()
        firstWriter = nil
        writer.onRoom = { [weak content] in content?.owner?.contentHasRoom() }
        let transfer = SegmentedTransfer(
            plan, to: spool, common(entity), writer: writer, streamsToEnd: end ?? total == total,
            meter: meter(), owner: listener)
        if isHeld { transfer.hold() }
        segments = transfer
        scattered = nil
        // Not here: the transport is telling of an answer, and may not be asked for anything.
        LoopActor.later { [weak self] in
            if self?.segments === transfer { transfer.begin(connections: connections) }
        }
        return true
    }

    /// The transfer of ranges is over, whole or not: what has come stays.
    /// - Returns: what was measured of its other connections.
    func endSegments() -> [TransactionMetrics] {
        guard let segments else { return [] }
        let metrics = segments.stop()
        let received = segments.received
        self.segments = nil
        let isPrefix = received.isEmpty || (received.count == 1 && received[0].lowerBound == 0)
        scattered = isPrefix ? nil : received
        return metrics
    }
}

// MARK: Checkpoints

extension ResumableDownload {
    /// Brings what has come of an outstanding download to the disk, for good, and tells of it
    /// (S-13).
    ///
    /// - Returns: why it is not there, if it is not; what a full disk has not taken comes when
    ///   there is room.
    func flush() async -> FileError? {
        guard session.record.isPersistent, let spool = content.spool, let owner,
            owner.isReceiving, isDownload
        else { return nil }
        let point = resumePoint
        do {
            try await spool.flush()
        } catch {
            owner.downloadIsLost(error, in: spool)
            return error as? FileError ?? FileError("flush", code: 0)
        }
        guard !spool.isWaitingForRoom else { return FileError("pwrite", code: ENOSPC) }
        if let point { tell(point, in: spool) }
        return nil
    }

    func tick() { LoopActor.start { await self.checkpoint() } }

    /// Tells what is on disk for good; called about once a second while bytes come.
    private func checkpoint() async {
        guard session.record.isPersistent, let spool = content.spool, let owner,
            owner.isReceiving, owner.hasLiveAttempt, isDownload, let entity = rangedEntity
        else { return }
        let written = spool.written(of: receivedRanges)
        guard let point = ResumePoint(entity: entity, received: written),
            point != owner.checkpoint?.point
        else { return }
        do {
            try await spool.sync()
        } catch {
            owner.downloadIsLost(error, in: spool)
            return
        }
        tell(point, in: spool)
    }

    /// What is known of a part already is never taken back.
    private func tell(_ point: ResumePoint, in spool: ContentSpool) {
        guard content.spool === spool, let owner, owner.isReceiving,
            point.receivedCount > owner.checkpoint?.point.receivedCount ?? 0
        else { return }
        note(point, to: owner)
    }

    /// The record tells of a point that is on disk for good, and others may go on with it.
    private func note(_ point: ResumePoint, to owner: any ResumableDownloadOwner) {
        let own = owner.checkpoint.flatMap { $0.part == task ? $0.series : nil }
        let series = services.contents.sendAhead(
            point, of: task, for: session.record.tenant, in: own)
        owner.downloadIsSafe(at: DownloadCheckpoint(point: point, part: task, series: series))
    }

    /// Brings all that has come to the disk, for good, and tells of it; nothing is being received.
    ///
    /// - Parameter waitsForRoom: whether a full disk is waited for; else what it does not take is
    ///   lost.
    func checkpointAll(waitsForRoom: Bool = true) async {
        guard session.record.isPersistent, let spool = content.spool, canBeResumed else { return }
        let received = receivedRanges
        do {
            try await spool.settle(waitsForRoom: waitsForRoom)
        } catch {
            owner?.downloadIsLost(error, in: spool)
            return
        }
        guard content.spool === spool, let owner, !owner.isOver,
            let point = keptPoint(of: received, in: spool)
        else { return }
        note(point, to: owner)
    }

    /// Of what has come, what is on disk for good; what is known of it already is never taken back.
    private func keptPoint(of received: [Range<Int64>], in spool: ContentSpool) -> ResumePoint? {
        let point = resumePoint(from: spool.written(of: received))
        guard let noted = owner?.checkpoint?.point,
            noted.receivedCount > point?.receivedCount ?? 0
        else { return point }
        return noted
    }

    /// Whether the record tells of all that has come: then nothing is lost with the process.
    var isCheckpointWhole: Bool {
        guard let spool = content.spool, spool.isSettled,
            let checkpoint = owner?.checkpoint, session.record.isPersistent
        else { return false }
        return checkpoint.point.received == receivedRanges
    }
}

// MARK: Resume data (S-34, S-35)

extension ResumableDownload {
    /// Whether another task could go on from here.
    var canPark: Bool {
        guard isDownload else { return false }
        return content.sink == nil ? owner?.checkpoint != nil : canBeResumed
    }

    /// Brings the part of a download that ends to safety, of a full disk what that has taken.
    /// - Returns: what another task goes on from; nil where the part cannot be kept.
    func park() async -> DownloadCheckpoint? {
        do {
            guard let spool = content.spool else { return try await keepCheckpoint() }
            guard canBeResumed else { return nil }
            let received = receivedRanges
            try await spool.settle(waitsForRoom: false)
            guard let owner, !owner.isOver, let point = keptPoint(of: received, in: spool) else {
                return nil
            }
            if session.record.isPersistent {
                guard try await keepOwnPart(point, on: spool.lane) else { return nil }
            } else {
                session.keep(spool.file, of: task, point.receivedCount)
                owner.downloadHasPart(of: 0)
            }
            content.detach()
            return DownloadCheckpoint(point: point, part: task)
        } catch {
            services.log.write(.error, "a part cannot be kept", ["error": .words("\(error)")])
            return nil
        }
    }

    /// What was on disk before this process, or the task, has touched it.
    private func keepCheckpoint() async throws -> DownloadCheckpoint? {
        guard let checkpoint = owner?.checkpoint else { return nil }
        guard checkpoint.part == task, session.record.isPersistent else { return checkpoint }
        // It may have come to another node.
        guard let found = try await bringHere(checkpoint),
            try await keepOwnPart(found.point, on: nil)
        else { return nil }
        return DownloadCheckpoint(point: found.point, part: task)
    }

    private func keepOwnPart(_ point: ResumePoint, on lane: Int?) async throws -> Bool {
        let isKept = try await services.contents.keepPart(
            of: task, in: session.record.tenant, length: point.received.last?.upperBound ?? 0,
            since: services.keptClock.now, behind: lane)
        guard isKept else { return false }
        session.account.tenant.keepPart(of: task, point.receivedCount)
        owner?.downloadHasPart(of: 0)
        return true
    }
}

// MARK: A full disk

extension ResumableDownload {
    /// Whether the disk had no room for what came last.
    var lacksRoom: Bool { laneWithoutRoom != nil }

    /// There is room again.
    func hasRoomAgain() { laneWithoutRoom = nil }

    /// The disk has no room for what has come since the last checkpoint, which counts for nothing:
    /// what a failed sync was about is not synced again, as that would be told that all is well,
    /// whatever has become of it.
    ///
    /// - Returns: what is there for good; nil without a checkpoint, or a way to ask for the rest.
    func goBack(from spool: ContentSpool) -> ResumePoint? {
        laneWithoutRoom = spool.lane
        guard let point = owner?.checkpoint?.point else { return nil }
        content.detach()
        scattered = nil
        firstWriter = nil
        return point
    }

    /// Behind all that the lane has yet to write, takes up room behind what is there for good.
    /// - Returns: why there is none.
    func findRoom() async -> FileError? {
        guard let laneWithoutRoom else { return nil }
        let end = owner?.checkpoint?.point.received.last?.upperBound
        do {
            try await services.spools.takeRoom(behind: end, for: task, on: laneWithoutRoom)
            return nil
        } catch {
            return error as? FileError ?? FileError("write", code: 0)
        }
    }
}
