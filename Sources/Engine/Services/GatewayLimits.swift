public import Semantics

/// What bounds a gateway.
public struct GatewayLimits: Sendable {
    /// Attempts at a time, of all sessions.
    public var attempts = 4096
    /// How many of `attempts` a session's first one stands for.
    public var firstAttemptCost = 1
    /// When work is done that may be put off (S-27).
    public var quietHours = QuietHours.always
    /// Attempts of tasks that may be put off, at a time, of all sessions (S-27).
    public var discretionaryAttempts = 64
    /// How long completed tasks and their contents are kept; an acknowledged one goes at once
    /// (S-60).
    public var taskRetention = Duration.seconds(7 * 86_400)
    /// The same for tasks of background sessions.
    public var backgroundTaskRetention = Duration.seconds(30 * 86_400)
    /// How long events can be replayed.
    public var eventRetention = Duration.seconds(86_400)
    /// The same for events of background sessions.
    public var backgroundEventRetention = Duration.seconds(7 * 86_400)
    /// How many events of one session can be replayed: beyond it the oldest are forgotten.
    public var eventsPerSession = 100_000
    /// How long a request with an `Idempotency-Key` is remembered.
    public var creationRetention = Duration.seconds(86_400)
    /// How long a suspended task keeps its connection, where it can do without (S-32).
    public var suspensionGrace = Duration.seconds(30)
    /// After how long a task that waits for a route tries again without having heard of one: the
    /// first time, and at most (S-26).
    public var routeWaits = Duration.seconds(1)...Duration.seconds(30)
    /// How long an ephemeral session answers after its last event (S-11).
    public var ephemeralGrace = Duration.seconds(60)
    /// How long the part of a download that ended early is kept for resume data (S-34).
    public var partRetention = Duration.seconds(7 * 86_400)
    /// Bytes of memory that the tasks, events and small contents of all ephemeral sessions may take
    /// together, about.
    public var ephemeralBytes = 256 << 20
    /// Bytes of memory that the requests of all tasks may take together that are not at rest, with
    /// their bodies.
    public var requestBytes = 256 << 20
    /// Bytes of memory that the caches of all sessions may take together.
    public var cacheBytes = 256 << 20
    /// Bytes of all staged files of a tenant together, and so of the largest one.
    public var stagedBytes: Int64 = 100 << 30
    /// Staged files of a tenant.
    public var stagedFiles = 10_000
    /// How long a complete staged file is kept after it was used last; a task that sends it uses
    /// it.
    public var stagedRetention = Duration.seconds(7 * 86_400)
    /// How long the receiver of a webhook has for its answer.
    public var webhookAnswerTime = Duration.seconds(15)
    /// How long a staged file whose upload rests is kept.
    public var partialRetention = Duration.seconds(86_400)

    /// The bounds that Ferry promises.
    public init() {}
}
