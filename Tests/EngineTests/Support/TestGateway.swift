import Loop
import Metrics
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A gateway on a scripted network and store, with a recorder that holds every event against its
/// promises. Who waits for a route waits until he hears of one, unless the test has other waits.
@LoopActor
final class TestGateway {
    let network = FakeTransport()
    let clock: ManualClock
    let store: ScriptedStore
    /// The store of one of several nodes; nil for a gateway that has its store alone.
    let node: NodeOnDisk?
    let directory: TemporaryDirectory
    /// Where whole contents are, if not on this machine.
    let place: ScriptedPlace?
    private let placeFolder: TemporaryDirectory?
    /// What becomes of the bytes that files have taken.
    let disk = ScriptedSync()
    let gateway: Gateway
    let recorder: EventRecorder
    /// Tells the gateway of routes.
    let routes = FakeConnectivity()
    let tenant = TenantID.operatorTenant
    static let files = FileThreads(count: 4)

    init(
        store: ScriptedStore = ScriptedStore(), clock: ManualClock = ManualClock(),
        directory: TemporaryDirectory? = nil, limits: GatewayLimits = GatewayLimits(),
        ticketHosts: Set<String> = [], reserve: (any Reserve)? = nil,
        storeIsElsewhere: Bool = false, saveFolders: (any SaveFolders)? = nil,
        routeWaits: ClosedRange<Duration> = .seconds(3600) ... .seconds(3600),
        keepsContentsElsewhere: Bool = false, asNode node: NodeOnDisk? = nil
    ) async throws {
        let store = node?.scripted ?? store
        let shared: any Store = node ?? store
        self.node = node
        self.store = store
        self.clock = clock
        var limits = limits
        limits.routeWaits = routeWaits
        let directory = try directory ?? TemporaryDirectory()
        self.directory = directory
        let folder = ContentFolder(path: directory.path, sync: disk.sync)
        try folder.prepare()
        let contents = try await shared.load()
        var parts = GatewayParts(
            store: shared, transport: network, digests: SumDigests(), sealer: PlainSealer(),
            publicSuffixes: FewSuffixes(), files: TestGateway.files, folder: folder, clock: clock)
        parts.ticketHosts = ticketHosts
        placeFolder = keepsContentsElsewhere ? try TemporaryDirectory() : node?.shared.folder
        if let placeFolder {
            let place = ScriptedPlace(
                SharedFolderContents(
                    at: placeFolder.path, files: TestGateway.files,
                    stretchLength: node?.shared.stretchLength ?? 8 << 20))
            try await place.setMark("test")
            parts.sharedStore = node
            parts.keepContents(in: place, isShared: node != nil)
            self.place = place
        } else {
            place = nil
        }
        parts.connectivity = routes
        parts.reserve = reserve
        parts.storeIsElsewhere = storeIsElsewhere
        parts.saveFolders = saveFolders
        gateway = Gateway(parts, contents: contents, limits: limits)
        recorder = EventRecorder(
            store, known: contents.sessions,
            newestOfTenant: contents.tenantSequences[tenant] ?? 0)
        gateway.hub.setListener(recorder, for: .tenant(tenant))
        OnLoop.opened?.gateways.append(self)
    }

    /// Brings everything to rest, so that the harness can be left.
    fileprivate func close() async {
        store.refuse(with: nil)
        store.releaseReads()
        store.release()
        if store.hasFailed {
            for runner in gateway.tasks.directory.runners.values { runner.abandon() }
        } else {
            await gateway.stop()
            await quiet()
        }
    }

    /// A harness whose gateway is at work.
    static func open(
        store: ScriptedStore = ScriptedStore(), limits: GatewayLimits = GatewayLimits(),
        ticketHosts: Set<String> = [], reserve: (any Reserve)? = nil,
        storeIsElsewhere: Bool = false, saveFolders: (any SaveFolders)? = nil,
        routeWaits: ClosedRange<Duration> = .seconds(3600) ... .seconds(3600),
        keepsContentsElsewhere: Bool = false
    ) async throws -> TestGateway {
        let harness = try await TestGateway(
            store: store, limits: limits, ticketHosts: ticketHosts, reserve: reserve,
            storeIsElsewhere: storeIsElsewhere, saveFolders: saveFolders, routeWaits: routeWaits,
            keepsContentsElsewhere: keepsContentsElsewhere)
        await harness.gateway.start()
        harness.gateway.housekeeper.stop()  // it comes when a test says so
        return harness
    }

    /// A harness whose gateway is one of several nodes.
    static func node(
        _ node: NodeOnDisk, clock: ManualClock, limits: GatewayLimits = GatewayLimits()
    ) async throws -> TestGateway {
        let harness = try await TestGateway(clock: clock, limits: limits, asNode: node)
        await harness.gateway.start()
        harness.gateway.housekeeper.stop()
        return harness
    }

    /// The process dies; what the disk has is opened again, and not started yet.
    func crash(
        limits: GatewayLimits = GatewayLimits(), saveFolders: (any SaveFolders)? = nil
    ) async throws -> TestGateway {
        store.refuse(with: .failed("the process is dead"))
        for runner in gateway.tasks.directory.runners.values { runner.abandon() }
        return try await TestGateway(
            store: ScriptedStore(disk: store.disk), clock: clock, directory: directory,
            limits: limits, saveFolders: saveFolders)
    }

    // MARK: Sessions and tasks

    /// A session without a cache, so that every request goes to the network, unless it is
    /// configured to have one.
    func session(
        _ type: SessionType = .default, identifier: String? = nil,
        delegate: DelegateOptions? = nil,
        _ configure: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> SessionID {
        var configuration = SessionConfiguration()
        configuration.urlCache.memoryCapacity = 0
        configuration.urlCache.diskCapacity = 0
        configure(&configuration)
        let view = try await gateway.sessions.create(
            SessionSpec(
                type: type, identifier: identifier, description: nil,
                configuration: configuration, delegate: delegate),
            of: tenant)
        if type == .ephemeral { recorder.isVolatile.insert(view.record.id) }
        return view.record.id
    }

    func spec(
        _ type: TaskType = .data, _ url: String = "http://origin.test/a", method: String = "GET",
        headers: HeaderList = [:], body: BodyRecord? = nil, resume: Bool = true,
        checkpoint: DownloadCheckpoint? = nil,
        _ change: (inout TaskOptions) -> Void = { _ in }
    ) throws -> TaskSpec {
        var options = TaskOptions()
        change(&options)
        return TaskSpec(
            type: type,
            request: RequestRecord(
                url: try network.parse(url), method: method, headers: headers, body: body),
            options: options, resume: resume, checkpoint: checkpoint)
    }

    /// How many tasks have ended.
    var endedTaskCount: Int { gateway.tasks.directory.services.tally.ended.total }

    func create(_ spec: TaskSpec, in session: SessionID) async throws -> TaskID {
        let views = try await gateway.tasks.create([spec], in: session, of: tenant)
        return try #require(views.first).record.id
    }

    /// The task as the gateway shows it.
    func task(_ id: TaskID) async throws -> TaskRecord {
        try await gateway.tasks.read(id, of: tenant).record
    }

    func state(_ id: TaskID) async throws -> TaskState { try await task(id).state }

    /// Sets the limit of the whole gateway.
    func setLimit(_ limit: Int64?) async throws {
        var change = SettingChange()
        change.limit = .some(limit)
        try await gateway.settings.change(change)
    }

    /// Waits for a task's last event and returns the task.
    func finished(_ id: TaskID) async throws -> TaskRecord {
        try await recorder.end(of: id)
        return try await task(id)
    }

    /// Returns when everything that has been set off by now has come to rest: what has not happened
    /// by then, does not.
    func quiet() async {
        for _ in 0..<4 {
            await gateway.queues.onDisk.durable()
            await gateway.queues.inMemory.durable()
            for _ in 0..<4 { await turn() }
        }
    }

    /// Returns on a later turn of the loop, when all jobs that there are now have had theirs.
    func turn() async {
        await LoopActor.start {}.value
        await withCheckedContinuation { continuation in
            LoopActor.later { continuation.resume() }
        }
        await Task.yield()
    }

    // MARK: Contents

    /// Reads a content, or a part of it, to its end.
    func read(_ id: TaskID, _ range: Range<Int64>? = nil) async throws -> [UInt8] {
        let access = try await gateway.contents.access(to: id, of: tenant)
        let stream = try await access.open(range)
        var bytes: [UInt8] = []
        while let more = try await stream.next() { bytes += more }
        return bytes
    }

    /// The names of the files that are in the place of whole contents.
    func wholeContents() throws -> [String] {
        try placeFolder?.contents().filter { $0.contains("/") } ?? []
    }

    /// The names of the files below the content folder.
    func files() throws -> [String] {
        try directory.contents().filter { $0.contains("/") }
    }
}

/// Runs the loop beneath tests, and closes the gateways that they have opened.
struct OnLoop: SuiteTrait, TestTrait, TestScoping {
    /// The gateways of one test.
    @LoopActor
    final class OpenGateways {
        fileprivate var gateways: [TestGateway] = []
        nonisolated init() {}
    }

    @TaskLocal fileprivate static var opened: OpenGateways?

    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        LoopActor.loop.start()
        let opened = OpenGateways()
        let result: Result<Void, any Error>
        do {
            try await OnLoop.$opened.withValue(opened) { try await function() }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        for harness in await opened.gateways { await harness.close() }
        try result.get()
    }
}

extension Trait where Self == OnLoop {
    /// The event loop runs, on a thread of its own.
    static var onLoop: OnLoop { OnLoop() }
}
