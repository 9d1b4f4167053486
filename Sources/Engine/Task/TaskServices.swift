internal import Diagnostics
internal import Loop
internal import Semantics

/// What every task runner needs of the gateway.
@LoopActor
final class TaskServices {
    let keptClock: KeptClock
    /// What contents come in by.
    let spools: Spools
    /// The folders that downloads can be saved in; nil where the operator has named none.
    let saveFolders: (any SaveFolders)?
    let sealer: any Sealer
    let transport: any Transport
    let hub: EventHub
    let tickers = Tickers()
    let tally: Tally
    let decisions: PendingDecisions
    let routes: RouteWaiters
    /// The hosts that are shown the operator's tickets (S-63), in lower case.
    let ticketHosts: Set<String>
    /// How long a suspended task keeps its connection (S-32).
    let suspensionGrace: Duration
    /// Whether attempts stand still, and none is begun: another node may be about to go on with
    /// them.
    var standsStill = false
    let log = Log("engine.task")
    private weak var bodyOpener: (any BodyOpener)?

    init(
        keptClock: KeptClock, tally: Tally, spools: Spools, saveFolders: (any SaveFolders)?,
        sealer: any Sealer,
        transport: any Transport,
        hub: EventHub, identifiers: IdentifierSource, ticketHosts: Set<String>,
        connectivity: (any Connectivity)?, routeWaits: ClosedRange<Duration>,
        suspensionGrace: Duration
    ) {
        self.tally = tally
        self.decisions = PendingDecisions(identifiers, tally)
        self.routes = RouteWaiters(connectivity, waits: routeWaits)
        self.ticketHosts = ticketHosts
        self.keptClock = keptClock
        self.spools = spools
        self.saveFolders = saveFolders
        self.sealer = sealer
        self.transport = transport
        self.hub = hub
        self.suspensionGrace = suspensionGrace
    }

    var clock: any Clock { spools.clock }

    /// Who gets what room there is on the disk.
    var room: DiskRoom { spools.room }

    /// Keeps contents that are whole.
    var contents: any ContentStore { spools.contents }

    /// Tells who opens the bodies of tasks; it is not kept alive.
    func connect(to bodyOpener: any BodyOpener) { self.bodyOpener = bodyOpener }

    func openSource(
        _ body: BodyRecord, _ tenant: TenantID
    ) async throws(GatewayError) -> BodyContent {
        guard let bodyOpener else { throw .tenantIsMoving }  // the gateway ends
        return try await bodyOpener.openSource(body, of: tenant)
    }

    /// What another task goes on from; nil where it cannot, or cannot be sealed, which is logged.
    func resumeData(_ checkpoint: DownloadCheckpoint, of record: TaskRecord) -> String? {
        guard let request = record.requestToResume else { return nil }
        do {
            return try ResumeData(request: request, checkpoint: checkpoint)
                .sealed(by: sealer, for: record.tenant)
        } catch {
            log.write(.error, "resume data cannot be sealed", ["error": .words("\(error)")])
            return nil
        }
    }
}

extension Bandwidth {
    /// Whether a limit applies.
    var isLimited: Bool { nearestLimit != nil }
}

/// What a request's body is read from.
enum BodyContent {
    case bytes([UInt8])
    case file(any OpenContent)
}

/// Does something now and then, while there is something to do.
@LoopActor
protocol Ticking: AnyObject {
    func tick()
}

/// What running tasks do now and then, each kind of it with one timer for all.
@LoopActor
struct Tickers {
    /// Lets running tasks tell their progress four times a second at most (S-59): a little more
    /// than a quarter of a second, since a timer counts from the beginning of the loop's turn, and
    /// may be early by as long as that takes.
    let progress = Ticker(every: .milliseconds(280))
    /// Lets running downloads note what is on disk for good, about once a second.
    let checkpoints = Ticker(every: .seconds(1))
}

/// Lets many do something now and then: each that has asked for it, once at the next tick.
@LoopActor
final class Ticker {
    private let interval: Duration
    private var waiting: [ObjectIdentifier: any Ticking] = [:]
    private lazy var timer = LoopTimer { [weak self] in self?.tick() }

    /// Ticks while somebody waits for it.
    init(every interval: Duration) { self.interval = interval }

    /// Acts at the next tick.
    func note(_ member: any Ticking) {
        waiting[ObjectIdentifier(member)] = member
        if !timer.isArmed { timer.arm(after: interval) }
    }

    func forget(_ member: any Ticking) { waiting[ObjectIdentifier(member)] = nil }

    private func tick() {
        let members = waiting.values
        waiting = [:]
        for member in members { member.tick() }
    }
}
