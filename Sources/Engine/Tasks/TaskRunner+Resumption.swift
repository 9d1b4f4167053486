internal import Diagnostics
internal import Glibc
internal import Loop
internal import Semantics

/// How a download outlives its exchange, its suspension, its task and the process: by asking for
/// the ranges that are missing, on the condition that the entity is still the same (S-32,
/// S-34…S-36; ).
extension TaskRunner {
    /// What has come, in order.
    var receivedRanges: [Range<Int64>] {
        if let segments { return segments.received }
        if let scattered { return scattered }
        guard case .spool(let spool) = sink, spool.length > 0 else { return [] }
        return [0..<spool.length]
    }

    private var resumePoint: ResumePoint? { resumePoint(from: receivedRanges) }

    private func resumePoint(from received: [Range<Int64>]) -> ResumePoint? {
        guard record.type == .download, record.currentRequest.method == "GET", let entity else {
            return nil
        }
        return ResumePoint(entity: entity, received: received)
    }

    /// Whether an answer that was shorter than its range may be followed by another one: not for
    /// ever, where a server gives next to nothing each time.
    func mayAskForMore() -> Bool {
        let brought = record.countOfBytesReceived - (rangeRequest?.start ?? 0)
        if brought < TaskRunner.decentAnswer { smallAnswers += 1 }
        return smallAnswers <= TaskRunner.smallAnswerLimit
    }

    private static let decentAnswer: Int64 = 1 << 20
    private static let smallAnswerLimit = 16

    /// Whether the ranges that were asked for are there, but are not all.
    var isShort: Bool {
        guard let rangeRequest, let entity else { return false }
        guard let total = entity.total else { return rangeRequest.entity.total == nil }
        return record.countOfBytesReceived < total
    }

    // MARK: Before an attempt

    /// Whether bytes are on disk that the attempt goes on from.
    var mustFindPart: Bool {
        if case .spool(let spool) = sink { return spool.isSettled }
        return sink == nil && record.checkpoint != nil
    }

    /// Takes up what is on disk. What cannot be found, or is not what it was, is done without.
    func findPart() async throws(TransferError) {
        do {
            if case .spool(let spool) = sink {
                if spool.isSettled { try await takeUp(spool) }
            } else if sink == nil, let checkpoint = record.checkpoint {
                try await adopt(checkpoint)
            }
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

    private func adopt(_ checkpoint: DownloadCheckpoint) async throws {
        let point = checkpoint.point
        guard let file = try await takePart(checkpoint),
            let needed = point.received.last?.upperBound, file.length >= needed
        else {
            services.log.write(
                .warning, "the part of a download is gone: it begins anew",
                ["task": .name("\(record.id)")])
            dropReceived()
            return
        }
        guard !isOver else {
            discardOwnPart()
            return
        }
        let spool = ContentSpool(
            continuing: file.content, length: point.prefixLength, digest: makeDigest(),
            files: services.files, room: services.room, clock: services.clock)
        attach(spool)
        entity = point.entity
        if point.received.count > 1 || point.prefixLength == 0 { scattered = point.received }
        try await takeUp(spool)
        record.checkpoint = DownloadCheckpoint(point: point, part: record.id)
        record.countOfBytesReceived = point.receivedCount
        shown.received = point.receivedCount
        record.countOfBytesExpectedToReceive = point.total ?? unknownSize
    }

    private func takePart(
        _ checkpoint: DownloadCheckpoint
    ) async throws -> (content: ContentFile, length: Int64)? {
        guard session.record.isPersistent else {
            return session.takePart(of: checkpoint.part).map { ($0, .max) }
        }
        let (folder, id, part) = (services.folder, record.id, checkpoint.part)
        let length = try await services.files.run { try folder.take(part, as: id) }
        guard let length else { return nil }
        return (ContentFile(continuing: id, in: folder, digest: makeDigest()), length)
    }

    /// Decides what the attempt that is about to begin asks for: what is missing, or the whole.
    func planAttempt() {
        if let planned = plannedRange {
            plannedRange = nil
            rangeRequest = planned
            return
        }
        rangeRequest = nil
        let received = receivedRanges
        guard !received.isEmpty else {
            if case .spool = sink { dropReceived() }
            return
        }
        guard let point = resumePoint else {
            dropReceived()
            return
        }
        let gap = point.gaps.first ?? ResumePoint.Gap(start: point.prefixLength, end: nil)
        rangeRequest = RangeRequest(
            of: point.entity, from: gap.start, to: gap.end == point.total ? nil : gap.end)
    }

    // MARK: The answer

    /// The answer to a request for what is missing.
    func goOn(with range: RangeRequest, _ head: ResponseHead) -> FlowVerdict {
        switch range.judge(status: head.status, headers: head.headers) {
        case .rest(let end, let total):
            return goOn(with: range, head, to: end, total: total)
        case .complete:
            guard !tellOfResumption(head, total: range.start) else { return pauseForDecision() }
            wakeContentWaiters()
            exchange.sequel = .finish
            return .proceed
        case .whole(isSameEntity: true) where range.byDate != nil:
            exchange.sequel = .again(range.byDate)
            return .stop
        case .whole:
            dropReceived()
            return begin(ResponseRecord(head, to: record, in: session.record))
        case .mismatch(let words):
            guard hasBegunAnew else {
                hasBegunAnew = true
                exchange.sequel = .again(nil)
                return .stop
            }
            exchange.sequel = .fail(.badServerResponse(words))
            return .stop
        case .other:
            guard record.response == nil || isResponseDecided else {
                exchange.sequel = .fail(.restAnswered(with: head.status))
                return .stop
            }
            dropReceived()
            return begin(ResponseRecord(head, to: record, in: session.record))
        }
    }

    private func goOn(
        with range: RangeRequest, _ head: ResponseHead, to end: Int64, total: Int64?
    ) -> FlowVerdict {
        if range.entity.total == nil, let total {
            entity = RangedEntity(validators: range.entity.validators, total: total)
        }
        guard !tellOfResumption(head, total: total) else { return pauseForDecision() }
        exchange.missingByteCount = end - range.start
        wakeContentWaiters()
        splitUp(from: range.start, to: end)
        return .proceed
    }

    /// A task that goes on with another one's part says so once, before its response (S-36).
    ///
    /// - Returns: whether the delegate has yet to say what becomes of the response.
    private func tellOfResumption(_ head: ResponseHead, total: Int64?) -> Bool {
        guard record.response == nil else { return false }
        services.hub.publish(
            .didResumeAtOffset(
                fileOffset: record.countOfBytesReceived,
                expectedTotalBytes: total ?? unknownSize),
            of: record.id, in: session)
        record.countOfBytesExpectedToReceive = total ?? unknownSize
        return showAsking(ResponseRecord(head, to: record, in: session.record))
    }

    /// What has come is not used: the next response begins at zero.
    func dropReceived() {
        if case .spool(let spool) = sink {
            if let stopped = segments?.stop() { endSegments(stopped) }
            spool.close(isBroken: true)
            discardPart(of: spool)
            replacedLane = spool.lane
            sink = nil
        }
        scattered = nil
        firstWriter = nil
        entity = nil
        replacedParts = nil
        undelivered = nil
        rangeRequest = nil
        record.response = nil
        record.checkpoint = nil
        record.countOfBytesReceived = 0
        record.countOfBytesExpectedToReceive = unknownSize
        shown.received = 0
        lengthVerified = true
    }

    // MARK: Suspension (S-32)

    /// The time of the connection is over: it is a slot of its host, and no server keeps one for
    /// ever.
    func detach() {
        guard machine.phase == .held, canDetach else { return }
        send(.detach)
        LoopActor.start { [self] in
            await checkpointAll()
            guard machine.phase == .suspended else { return }
            save()
            if isAtRest { owner?.rests(self) }
        }
    }

    /// Whether nothing was delivered yet, so that the task can begin anew, or the rest of a
    /// download can be asked for.
    var canDetach: Bool {
        guard record.currentRequest.isSafe, record.currentRequest.body == nil, !isAsked
        else { return false }
        return record.response == nil || resumePoint != nil
    }

    // MARK: Checkpoints

    /// Brings what has come of an outstanding download to the disk, for good, and notes it (S-13).
    ///
    /// - Returns: why it is not there, if it is not; what a full disk has not taken comes when
    ///   there is room.
    func flush() async -> FileError? {
        guard session.record.isPersistent, case .spool(let spool) = sink, !isParking,
            record.type == .download, machine.phase != .finishing, machine.phase != .completed
        else { return nil }
        let point = resumePoint
        do {
            try await spool.flush()
        } catch {
            if !goesBack(after: error, in: spool) { send(.interrupted(.cannotWrite("\(error)"))) }
            return error as? FileError ?? FileError("flush", code: 0)
        }
        guard !spool.isWaitingForRoom else { return FileError("pwrite", code: ENOSPC) }
        if let point { note(point, in: spool) }
        return nil
    }

    /// What of a spool is on disk for good; what is known of it already is never taken back.
    private func note(_ point: ResumePoint, in spool: ContentSpool) {
        guard case .spool(let current) = sink, current === spool, machine.phase != .completed,
            machine.phase != .finishing,
            point.receivedCount > record.checkpoint?.point.receivedCount ?? 0
        else { return }
        record.checkpoint = DownloadCheckpoint(point: point, part: record.id)
        session.journal.save(record)
    }

    /// Notes in the record what is on disk for good; called about once a second while bytes come.
    func checkpoint() async {
        guard session.record.isPersistent, case .spool(let spool) = sink, !isParking,
            machine.hasLiveAttempt, let entity, record.type == .download
        else { return }
        let written = spool.written(of: receivedRanges)
        guard let point = ResumePoint(entity: entity, received: written),
            point != record.checkpoint?.point
        else { return }
        do {
            try await spool.sync()
        } catch {
            // Not `fail`: keeping the part would sync again, and be told that all is well.
            if !goesBack(after: error, in: spool) { send(.interrupted(.cannotWrite("\(error)"))) }
            return
        }
        note(point, in: spool)
    }

    /// Brings all that has come to the disk, for good, and notes it; nothing is being received.
    ///
    /// - Parameter waitsForRoom: whether a full disk is waited for; else what it does not take is
    ///   lost.
    func checkpointAll(waitsForRoom: Bool = true) async {
        guard session.record.isPersistent, case .spool(let spool) = sink, resumePoint != nil
        else { return }
        let received = receivedRanges
        do {
            try await spool.settle(waitsForRoom: waitsForRoom)
        } catch {
            guard !goesBack(after: error, in: spool) else { return }
            services.log.write(.error, "a part cannot be kept", ["error": .words("\(error)")])
            // It is not gone on with: the next sync would be told that all is well. Of a task
            // that is left to the next start, the record tells of what was there before.
            send(.interrupted(.cannotWrite("\(error)")))
            return
        }
        guard case .spool(let current) = sink, current === spool, machine.phase != .completed,
            let point = keptPoint(of: received, in: spool)
        else { return }
        record.checkpoint = DownloadCheckpoint(point: point, part: record.id)
        session.journal.save(record)
    }

    /// Of what has come, what is on disk for good; what is known of it already is never taken back.
    private func keptPoint(of received: [Range<Int64>], in spool: ContentSpool) -> ResumePoint? {
        let point = resumePoint(from: spool.written(of: received))
        guard let noted = record.checkpoint?.point,
            noted.receivedCount > point?.receivedCount ?? 0
        else { return point }
        return noted
    }

    /// A task that waits for long leaves nothing that ends with the process: then it waits on
    /// behind a restart (S-56).
    func settleWhileWaiting() {
        guard case .spool = sink else { return }
        let phase = machine.phase
        LoopActor.start { [self] in
            // An attempt that has begun meanwhile goes on with the spool as it is.
            guard machine.phase == phase else { return }
            await checkpointAll()
            if machine.phase == phase, !isOver { save() }
        }
    }

    /// Whether the record tells of all that has come: then nothing is lost with the process.
    var isCheckpointWhole: Bool {
        guard case .spool(let spool) = sink, spool.isSettled, let checkpoint = record.checkpoint,
            session.record.isPersistent
        else { return false }
        return checkpoint.point.received == receivedRanges
    }

    // MARK: Resume data (S-34, S-35)

    /// Whether another task could go on from here.
    var canPark: Bool {
        guard record.type == .download, machine.phase != .finishing else { return false }
        return sink == nil ? record.checkpoint != nil : resumePoint != nil
    }

    /// Brings the part of a download that ends to safety, of a full disk what that has taken.
    /// - Returns: what another task goes on from; nil where the part cannot be kept.
    func park() async -> String? {
        await preparation?.value  // it may be taking the part up
        do {
            guard case .spool(let spool) = sink else { return try await keepCheckpoint() }
            guard resumePoint != nil else { return nil }
            let received = receivedRanges
            try await spool.settle(waitsForRoom: false)
            guard !isOver, let point = keptPoint(of: received, in: spool) else { return nil }
            if session.record.isPersistent {
                guard try await keepOwnPart(on: spool.lane) else { return nil }
            } else {
                session.keep(spool.file, of: record.id)
            }
            spool.close(isBroken: true)
            sink = nil
            return services.resumeData(
                DownloadCheckpoint(point: point, part: record.id), of: record)
        } catch {
            services.log.write(.error, "a part cannot be kept", ["error": .words("\(error)")])
            return nil
        }
    }

    /// What was on disk before this process, or the task, has touched it.
    private func keepCheckpoint() async throws -> String? {
        guard let checkpoint = record.checkpoint else { return nil }
        if checkpoint.part == record.id, session.record.isPersistent {
            guard try await keepOwnPart(on: nil) else { return nil }
        }
        return services.resumeData(checkpoint, of: record)
    }

    private func keepOwnPart(on lane: Int?) async throws -> Bool {
        let (folder, id, now) = (services.folder, record.id, services.keptClock.now)
        return try await services.files.run(on: lane) { try folder.keep(id, since: now) }
    }
}
