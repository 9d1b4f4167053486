internal import Loop
internal import Semantics

/// Ranges of one download, fetched side by side.
extension TaskRunner: SegmentOwner {
    /// Lets other connections help where that was asked for, and fills holes that earlier ones have
    /// left.
    ///
    /// - Parameters:
    ///   - start: where the answer that has just begun starts in the content.
    ///   - end: where it ends; nil for the end of the content.
    func splitUp(from start: Int64 = 0, to end: Int64? = nil) {
        let connections = record.options.connections
        guard caching?.isServing != true, record.type == .download, !hasBegunAnew,
            connections > 1 || scattered != nil, segments == nil,
            case .spool(let spool) = sink, let entity, let total = entity.total
        else { return }
        let isWorthwhile = connections > 1 && total - start >= 2 * SegmentedTransfer.smallestSplit
        guard isWorthwhile || scattered != nil else { return }
        let plan = SegmentPlan(
            total: total, received: receivedRanges, alignment: Int64(FileBlock.alignment),
            smallestSplit: SegmentedTransfer.smallestSplit)
        let writer = firstWriter ?? spool.splitUp()
        firstWriter = nil
        writer.onRoom = { [weak self] in self?.sinkGotRoom() }
        let transfer = SegmentedTransfer(
            plan, to: spool,
            SegmentedTransfer.Common(
                record: record, session: session, bandwidth: bandwidth, clock: services.clock,
                entity: entity),
            writer: writer, streamsToEnd: end ?? total == total, meter: makeMeter(), owner: self)
        segments = transfer
        scattered = nil
        caching?.isPatched = true
        // Not here: the transport is telling of an answer, and may not be asked for anything.
        LoopActor.later { [self] in
            if segments === transfer { transfer.begin(connections: connections) }
        }
    }

    /// The task's own attempt is one of several, or the only one of them.
    func takeOfSegment(
        _ bytes: UnsafeRawBufferPointer, _ segments: SegmentedTransfer
    ) -> FlowVerdict {
        let taken = segments.primaryDidReceive(bytes)
        if let pause = taken.pause {
            exchange.notePause(pause)
            updateIdleTimer()
        }
        return taken.verdict
    }

    /// The transfer is over, whole or not: what has come stays.
    func endSegments(_ stopped: [TransactionMetrics]) {
        guard let segments else { return }
        for metrics in stopped { record.metrics.add(metrics) }
        let received = segments.received
        self.segments = nil
        let isPrefix = received.isEmpty || (received.count == 1 && received[0].lowerBound == 0)
        scattered = isPrefix ? nil : received
    }

    func segmentsDidMove() { moved() }

    func segmentsDidReceive(_ count: Int) { received(count) }

    func segmentDidEnd(_ metrics: TransactionMetrics) {
        record.metrics.add(metrics)
    }

    func segmentsDidChangePace() { updateIdleTimer() }

    func segmentsGiveUpPrimary() {
        guard !exchange.isPaused(for: .sink), !exchange.isPaused(for: .rate),
            let metrics = exchange.stop()
        else { return }
        record.metrics.add(metrics)
        segments?.primaryDidEnd(AttemptEnd(error: nil, metrics: metrics, lengthVerified: true))
    }

    func segmentsDidEnd(_ outcome: SegmentedTransfer.Outcome) {
        guard let segments else { return }
        endSegments(segments.stop())
        if let metrics = exchange.stop() { record.metrics.add(metrics) }
        timers.attemptEnded()
        switch outcome {
        case .whole: send(.answered)
        case .failed(let error) where error.kind != .url(.badServerResponse): attemptFailed(error)
        // The answers to ranges make no sense: what one connection brings from zero on does.
        case .failed, .changed:
            hasBegunAnew = true
            dropReceived()
            tryAgain()
        }
    }
}
