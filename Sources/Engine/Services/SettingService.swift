public import Loop
internal import Semantics

/// What the operator sets of the whole gateway, which stays over restarts, and of tenants.
@LoopActor
public final class SettingService {
    /// The limit of the whole gateway; those of sessions and tasks are within it.
    private let bandwidth: Bandwidth
    let quiet: QuietTime
    private let tasks: TaskDirectory
    private let durable: CommitQueue
    let quotas: QuotaService

    init(
        bandwidth: Bandwidth, quiet: QuietTime, tasks: TaskDirectory, durable: CommitQueue,
        quotas: QuotaService
    ) {
        self.quotas = quotas
        self.bandwidth = bandwidth
        self.quiet = quiet
        self.tasks = tasks
        self.durable = durable
    }

    /// The limit of the whole gateway, in bytes of bodies a second; nil for none.
    public var limit: Int64? { bandwidth.limit }

    /// Whether work begins that may be put off (S-27).
    public var backgroundUpdates: Bool { !quiet.isHeld }

    /// Changes what is set, all of it from when that is durable.
    ///
    /// - Throws: `diskFull`.
    public func change(_ change: SettingChange) async throws(GatewayError) {
        try durable.requireRoom()
        if let limit = change.limit { durable.record(.gatewayLimit(limit)) }
        if let isOn = change.backgroundUpdates { durable.record(.backgroundUpdates(isOn)) }
        guard await durable.caughtUp() else {
            LoopActor.start { [self] in
                if await durable.durable() { await apply(change) }
            }
            throw .unconfirmed(isAway: durable.isAway)
        }
        await apply(change)
    }

    /// Takes over what the store has: another node has changed it.
    func refresh(_ contents: StoreContents) {
        if bandwidth.limit != contents.gatewayLimit { bandwidth.limit = contents.gatewayLimit }
        let isHeld = !contents.backgroundUpdates
        if quiet.isHeld != isHeld { quiet.isHeld = isHeld }
    }

    private func apply(_ change: SettingChange) async {
        if let limit = change.limit { bandwidth.limit = limit }
        if let isOn = change.backgroundUpdates { quiet.isHeld = !isOn }
        if change.cancelsBackgroundUpdates { await cancelBackgroundUpdates() }
    }

    /// Ends the tasks that are put off, whether they wait or run (S-55), and returns when they have
    /// ended.
    private func cancelBackgroundUpdates() async {
        let ending = tasks.runners.values.filter {
            $0.record.isDiscretionary && $0.record.state == .running
        }
        await Slices.of(ending) { slice in
            for runner in slice where runner.record.state == .running {
                runner.interrupt(
                    runner.task.noteCancellation(because: .backgroundUpdatesDisabled))
            }
        }
        await ending.completions(within: .seconds(60))
        await durable.caughtUp()
    }
}

/// What is to change of the gateway; nil leaves it as it is.
public struct SettingChange: Sendable {
    /// Bytes of bodies a second; `.some(nil)` takes the limit away.
    public var limit: Int64??
    /// Whether work begins that may be put off; what runs goes on.
    public var backgroundUpdates: Bool?
    /// Whether the tasks that are put off end, too.
    public var cancelsBackgroundUpdates = false

    /// A change of nothing.
    public init() {}
}
