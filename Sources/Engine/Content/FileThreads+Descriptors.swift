internal import Files
internal import Loop

extension FileThreads {
    /// How long a descriptor is waited for, at least.
    private static let patience = 600

    /// Runs work that opens a file, and again every 100 ms while the process has no descriptor for
    /// it, for a minute. Work that had none must have done nothing. On a lane, what is
    /// submitted meanwhile comes before it.
    /// - Throws: what `work` throws; also for want of a descriptor when the time is over, or the
    ///   caller is cancelled.
    @LoopActor
    func runOpening<T: Sendable>(
        on lane: Int? = nil, _ work: @escaping @Sendable () throws -> T
    ) async throws -> T {
        for _ in 0..<FileThreads.patience {
            do {
                return try await run(on: lane, work)
            } catch let error as FileError where error.isOutOfDescriptors && !Task.isCancelled {
                await LoopActor.nextTurn(after: .milliseconds(100))
            }
        }
        return try await run(on: lane, work)
    }
}
