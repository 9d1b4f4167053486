import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Whatever is done in whatever order, what is counted is what a recount finds.
@Suite(.onLoop)
struct RecountTests {
    /// Plays a tenant that does one thing after the other, many of them at the same time.
    @LoopActor
    private final class Player {
        var harness: TestGateway
        private var random: SeededGenerator
        private var sessions: [SessionID] = []
        private var tasks: [TaskID] = []
        private var files: [FileID] = []
        private var webhooks: [WebhookID] = []
        /// What downloads that have ended early have left, each for another one.
        private var resumeData: Set<String> = []

        init(_ harness: TestGateway, seed: UInt64) {
            self.harness = harness
            random = SeededGenerator(seed)
        }

        /// Does something; that it is refused is one of the things that happen.
        func step() async {
            let step = Int.random(in: 0..<16, using: &random)
            _ = await outcome { [self] in
                switch step {
                case 0: sessions.append(try await harness.session(type()))
                case 1, 2, 3: try await create()
                case 4, 5: playOne()
                case 6:
                    if let task = any(tasks) {
                        _ = try await gateway.tasks.cancel(task, of: tenant)
                    }
                case 7:
                    if let task = any(tasks) {
                        note(try await gateway.tasks.read(task, of: tenant).record)
                        try await gateway.tasks.delete(task, of: tenant)
                    }
                case 8:
                    if let task = any(tasks) {
                        _ = try await gateway.tasks.suspend(task, of: tenant)
                    }
                case 9:
                    if let task = any(tasks) {
                        _ = try await gateway.tasks.resume(task, of: tenant)
                    }
                case 10: files.append(try await harness.file(Pattern.bytes(count: size())))
                case 11:
                    if let file = any(files) { try await gateway.files.delete(file, of: tenant) }
                case 12: try await hook()
                case 13:
                    if let task = any(tasks) {
                        note(
                            try await gateway.tasks.cancelProducingResumeData(task, of: tenant)
                                .record)
                    }
                case 14: try await goOn()
                default: try await end()
                }
            }
        }

        private var gateway: Gateway { harness.gateway }
        private var tenant: TenantID { harness.tenant }

        private func any<ID>(_ ids: [ID]) -> ID? { ids.randomElement(using: &random) }

        private func size() -> Int { Int.random(in: 0..<60_000, using: &random) }

        private func type() -> SessionType { Bool.random(using: &random) ? .ephemeral : .default }

        private func create() async throws {
            guard let session = any(sessions) else { return }
            let specs = try (0..<Int.random(in: 1..<5, using: &random)).map { _ in
                try harness.spec(
                    Bool.random(using: &random) ? .download : .data,
                    resume: Bool.random(using: &random))
            }
            let views = try await gateway.tasks.create(specs, in: session, of: tenant)
            tasks += views.map(\.record.id)
        }

        /// Another download goes on where one has ended, or where it was a while ago.
        private func goOn() async throws {
            guard let session = any(sessions), let data = any(resumeData.sorted()) else { return }
            let (request, checkpoint) = try gateway.tasks.checkpoint(in: data, of: tenant)
            tasks.append(
                try await harness.create(
                    TaskSpec(
                        type: .download, request: request, options: TaskOptions(),
                        resume: Bool.random(using: &random), checkpoint: checkpoint), in: session))
        }

        private func note(_ task: TaskRecord) {
            if case .string(let data)? = task.error?.userInfo[TransferError.resumeDataKey] {
                resumeData.insert(data)
            }
        }

        private func playOne() {
            guard let attempt = harness.network.running.randomElement(using: &random) else {
                return
            }
            switch Int.random(in: 0..<3, using: &random) {
            case 0: attempt.answer(200, [:], Pattern.bytes(count: size()))
            case 1: attempt.end(.url(.networkConnectionLost))
            default:
                attempt.head(
                    200,
                    ["Content-Length": "100000", "ETag": "\"e\"", "Accept-Ranges": "bytes"])
                attempt.body(Pattern.bytes(count: size()))
            }
        }

        private func hook() async throws {
            if webhooks.count > 3, let webhook = any(webhooks) {
                try await gateway.webhooks.delete(webhook, of: tenant)
            } else {
                let url = try harness.network.parse("http://receiver.test/")
                let view = try await gateway.webhooks.create(
                    WebhookSpec(url: url, events: .some(["task.didComplete"])), of: tenant,
                    session: nil)
                webhooks.append(view.record.id)
            }
        }

        private func end() async throws {
            guard let session = any(sessions) else { return }
            try await gateway.sessions.invalidate(
                session, of: tenant, Bool.random(using: &random) ? .cancelTasks : .finishTasks)
        }

        /// Ends what is on its way, so that what is stored is what tasks show.
        func settle() async throws {
            for task in tasks where !Bool.random(using: &random) {
                _ = await outcome { [self] in try await gateway.tasks.suspend(task, of: tenant) }
            }
            await harness.quiet()
            for task in tasks where gateway.tasks.directory.runners[task] != nil {
                _ = await outcome { [self] in try await gateway.tasks.cancel(task, of: tenant) }
            }
            await harness.quiet()
        }

        /// The bytes of parts, those that tasks have at rest and those that are kept.
        private func parts(_ records: [TaskRecord]) async throws -> Int64 {
            for record in records { note(record) }
            let outstanding = records.filter { $0.state != .completed }
            let resting = outstanding.reduce(Int64(0)) { sum, task in
                guard let checkpoint = task.checkpoint, checkpoint.part == task.id else {
                    return sum
                }
                return sum + checkpoint.point.receivedCount
            }
            let kept = try await gateway.tasks.directory.services.contents.list([.kept])
            let live = gateway.sessions.directory.values.filter { !$0.record.isPersistent }
            let inMemory = try resumeData.reduce(Int64(0)) { sum, data in
                let point = try gateway.tasks.checkpoint(in: data, of: tenant).checkpoint
                let isKept = live.contains { $0.keepsPart(of: point.part) }
                return sum + (isKept ? point.point.receivedCount : 0)
            }
            return resting + inMemory + kept.reduce(Int64(0)) { $0 + $1.length }
        }

        /// Counts everything that there is, as a stranger would.
        func recount() async throws -> [TenantQuotas.Quota: Int64] {
            let sessions = gateway.sessions.directory.values.map(\.record)
                .filter { $0.type != .shared && $0.state != .invalid }
            var query = TaskQuery(tenant: tenant, states: Set(TaskState.allCases), limit: 500)
            var records: [TaskRecord] = []
            while true {
                let page = try await gateway.tasks.list(query).views.map(\.record)
                records += page
                guard let last = page.last, page.count == 500 else { break }
                query.after = last.id
            }
            let files = await gateway.files.list(of: tenant, after: nil, limit: .max)
            let staged = files.reduce(0) { $0 + $1.length }
            let results = records.reduce(0) { $0 + ($1.content?.length ?? 0) }
            return [
                .sessions: Int64(sessions.count),
                .outstandingTasks: Int64(records.count { $0.state != .completed }),
                .runningAttempts: Int64(
                    harness.network.running.count { $0.request.url.host == "origin.test" }),
                .storedBytes: results + staged + (try await parts(records)), .stagedBytes: staged,
                .webhooks: Int64(gateway.webhooks.list(of: tenant).count),
            ]
        }

        func check() async throws {
            let (counted, found) = (await counted(), try await recount())
            for (quota, count) in found { #expect(counted[quota] == count, "\(quota)") }
        }

        func counted() async -> [TenantQuotas.Quota: Int64] {
            let usage = await gateway.quotas.usage(of: tenant)
            let quotas: [TenantQuotas.Quota] = [
                .sessions, .outstandingTasks, .runningAttempts, .storedBytes, .stagedBytes,
                .webhooks,
            ]
            return Dictionary(uniqueKeysWithValues: quotas.map { ($0, usage.used($0)) })
        }
    }

    @Test(arguments: 1...12) @LoopActor
    func `after any operations the counts are those of a recount, and after a kill, too`(
        seed: UInt64
    ) async throws {
        var bounds = GatewayLimits()
        bounds.suspensionGrace = .milliseconds(1)
        let player = Player(try await TestGateway.open(limits: bounds), seed: seed)
        let limits: [TenantQuotas.Quota: Int64] = [
            .sessions: 12, .outstandingTasks: 60, .runningAttempts: 8, .storedBytes: 2_000_000,
            .stagedBytes: 400_000, .webhooks: 5,
        ]
        player.harness.set(limits)
        for _ in 0..<60 {
            // Some at a time, and each sees what the others have left.
            let steps = (0..<4).map { _ in LoopActor.start { await player.step() } }
            for step in steps { await step.value }
            let used = await player.counted()
            for (quota, limit) in limits {
                #expect(used[quota, default: 0] <= limit, "\(quota)")
            }
        }
        try await player.settle()
        try await player.check()
        let survivor = try await player.harness.crash()
        await survivor.gateway.start()
        survivor.gateway.housekeeper.stop()
        player.harness = survivor
        await survivor.quiet()
        try await player.check()
    }
}
