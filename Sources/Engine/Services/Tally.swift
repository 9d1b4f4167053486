internal import Loop
internal import Metrics
internal import Semantics

/// What is counted of a gateway's work since its start, by those who do it.
@LoopActor
final class Tally {
    /// Who hears of transfers that the policy has not let through: it may want more than a number.
    var onDenied: (@LoopActor (DeniedDestination) -> Void)?
    /// Tasks that were created.
    var created = LabelledCounter<TaskType>()
    /// Tasks that have ended, by the name of their error; nil for success.
    var ended = LabelledCounter<String?>()
    /// Attempts that went to origins.
    var attempts = Counter()
    /// Attempts that were made again after one had failed.
    var retries = Counter()
    /// Bytes of bodies that came, from origins or out of a cache.
    var receivedBytes = Counter()
    /// Bytes of bodies that were sent to origins.
    var sentBytes = Counter()
    /// What caches have said: `hit`, or why the origin was asked.
    var cacheOutcomes = LabelledCounter<String>()
    /// Decisions that wait no more.
    var decisions = LabelledCounter<DecisionState>()
    /// Tries of webhooks.
    var deliveries = LabelledCounter<DeliveryResult>()
    /// Tenants that have come from other nodes, or gone to them.
    var tenantMoves = LabelledCounter<TenantMove>()
}

/// What has come of a try to deliver an event.
public enum DeliveryResult: String, CaseIterable, Sendable {
    /// The receiver has the event.
    case delivered
    /// It will be tried again.
    case postponed
    /// It is given up.
    case failed
}
