import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Whatever a route shows of a change is what the store has: for every operation that makes
/// one.
struct ShownChangeTests {
    @Test func `every operation that changes something is told of`() throws {
        let readers: Set = ["GET", "HEAD"]
        let operations = try Contract().operations.filter { !readers.contains($0.method) }
        let told = Set(Change.all.map(\.operation)).union(Change.others.keys)
        #expect(told == Set(operations.map(\.description)))
    }

    @Test(.serialized, arguments: Change.all)
    func `nothing is shown before a crash would leave it (R-1)`(change: Change) async throws {
        try await ChangeScene.run { scene in
            var witness = try await Witness(change, scene)
            scene.store.hold()
            let request = try await scene.begin(change)
            while true {
                try await scene.waitForCommit(or: request)
                try await witness.look()
                if request.isOver { break }
                scene.store.step()
            }
            let answer = try #require(try request.answer?.get())
            #expect((200..<300).contains(answer.status), "\(answer.text)")
            try await witness.expectDone(by: answer)
        }
    }

    @Test(.serialized, arguments: Change.all)
    func `nothing is shown that a failed store has not got (R-1, R-6)`(
        change: Change
    ) async throws {
        try await ChangeScene.run { scene in
            let failures = await scene.failStore()
            var witness = try await Witness(change, scene)
            let request = try await scene.begin(change)
            try await eventually("the store's failure") { await !failures.all.isEmpty }
            for _ in 0..<2 { try await witness.look() }
            #expect(await failures.all == [.failed("EIO")])
            #expect(request.isRefused ?? true)
            try await witness.expectNothingDone()
        }
    }

    @Test(.serialized, arguments: Change.all)
    func `nothing is shown that a full disk has not taken (R-1, R-5)`(
        change: Change
    ) async throws {
        try await ChangeScene.run { scene in
            scene.store.refuse(with: .full)
            var witness = try await Witness(change, scene)
            let request = try await scene.begin(change)
            try await eventually("a full disk or an answer") {
                let takesWork = await scene.gateway.engine.takesWork
                return !takesWork || request.isOver
            }
            for _ in 0..<2 { try await witness.look() }
            #expect(request.isRefused ?? true)
            try await witness.expectNothingDone()
            scene.store.refuse(with: nil)
        }
    }

    @Test func `a change that a full disk has refused is shown once it has it after all (R-5)`()
        async throws
    {
        try await ChangeScene.run { scene in
            let path = scene.filled("/v1/tasks/{finished}")
            scene.store.refuse(with: .full)
            let refused = try await scene.client.patch(path, ["description": "new"])
            #expect(refused.status == 507)
            #expect(try await scene.client.get(path).json["description"].isNull)
            scene.store.refuse(with: nil)
            try await eventually("the change") {
                try await scene.client.get(path).json["description"].string == "new"
            }
        }
    }

    @Test func `a flush is answered when a crash would leave what had come (R-1, S-13)`()
        async throws
    {
        try await ChangeScene.run { scene in
            let task = try await scene.bringMoreBytes()
            scene.store.hold()
            let request = try await scene.begin(.flush)
            while !request.isOver {
                scene.store.step()
                try await scene.waitForCommit(or: request)
            }
            #expect((try? request.answer?.get().status) == 204)
            let left = try await scene.store.afterCrash().task(task, of: .operatorTenant)
            #expect(left?.checkpoint?.point.receivedCount == 200_000)
        }
    }

    @Test func `a flush is not answered by a store that has failed (R-6)`() async throws {
        try await ChangeScene.run { scene in
            _ = try await scene.bringMoreBytes()
            let failures = await scene.failStore()
            let request = try await scene.begin(.flush)
            try await eventually("the store's failure") { await !failures.all.isEmpty }
            try await scene.settle()
            #expect(request.isRefused ?? true)
        }
    }
}

/// Holds what a gateway shows against what a crash would leave.
private struct Witness {
    private let change: Change
    private let scene: ChangeScene
    /// What a crash would have left at each look.
    private var left: [[String: Look]]
    /// What was asked, since which look, and is still to be judged.
    private var questions: [(place: String, since: Int, answer: PendingAnswer)] = []
    private var readers: [EventStreamReader]

    init(_ change: Change, _ scene: ChangeScene) async throws {
        self.change = change
        self.scene = scene
        left = [try await scene.looksAfterCrash(change.places)]
        readers = [scene.events]
    }

    /// Asks for everything that the change is seen in, and judges what has been answered by now.
    mutating func look() async throws {
        left.append(try await scene.looksAfterCrash(change.places))
        readers.append(try await scene.client.events("/v1/events?replay=all"))
        var asked: [(place: String, headers: HeaderLines)] = change.places.map { ($0, [:]) }
        for place in change.places where place.hasPrefix("/v1/tasks/{") {
            asked.append((place, ["Prefer": "wait=60"]))
        }
        let (scene, since) = (scene, left.count - 2)
        questions += try await scene.settled(after: asked.count) {
            asked.map { place, headers in
                let answer = PendingAnswer {
                    try await scene.client.get(scene.filled(place), headers)
                }
                return (place, since, answer)
            }
        }
        judge()
    }

    private mutating func judge() {
        questions.removeAll { place, since, pending in
            guard case .success(let answer)? = pending.answer else { return false }
            // A full disk shows nothing of what is to be forgotten when there is room.
            if answer.status == 507 { return true }
            let look = Look(answer)
            let wouldBeLeft = left[since...].compactMap { $0[place] }
            #expect(wouldBeLeft.contains(look), "\(place) shows what is not durable")
            return true
        }
        let committed = Set(scene.store.batches.flatMap(\.events).map(\.tenantSequence))
        for reader in readers {
            let shown = reader.events.ids.compactMap { Int64($0.dropFirst("t.".count)) }
            #expect(committed.isSuperset(of: shown))
        }
    }

    /// The change is there, and so is what the answer says of it, though nothing was committed
    /// after the answer.
    func expectDone(by answer: TestResponse) async throws {
        let now = try await scene.looksAfterCrash(change.places)
        for place in change.places {
            #expect(now[place] != left[0][place], "\(place) does not show it")
        }
        guard let place = change.place(of: answer) else { return }
        let shown = try await scene.looksAfterCrash([place])[place]
        #expect(shown?.body == Look(answer).body)
    }

    func expectNothingDone() async throws {
        #expect(try await scene.looksAfterCrash(change.places) == left[0])
    }
}

/// What a gateway says of its store.
@LoopActor
private final class StoreFailures {
    var all: [StoreError] = []
}

extension ChangeScene {
    /// From now on no commit succeeds.
    @LoopActor
    fileprivate func failStore() -> StoreFailures {
        let failures = StoreFailures()
        gateway.engine.onStoreFailure = { failures.all.append($0) }
        store.refuse(with: .failed("EIO"))
        return failures
    }

    /// Sends the request, and returns when it has come as far as the store lets it.
    fileprivate func begin(_ change: Change) async throws -> PendingAnswer {
        try await settled(after: 1) { PendingAnswer { try await change.send(to: self) } }
    }

    fileprivate func waitForCommit(or request: PendingAnswer) async throws {
        try await eventually("a commit or an answer") { request.isOver || store.heldCount > 0 }
    }

    /// The download that bytes go on coming to; returns when they are there.
    fileprivate func bringMoreBytes() async throws -> TaskID {
        let task = filled("{running}")
        moreBytes.open()
        _ = try await client.task(task) { $0["countOfBytesReceived"].int == 200_000 }
        return try #require(TaskID(task))
    }
}

extension Change {
    fileprivate func send(to scene: ChangeScene) async throws -> TestResponse {
        try await scene.client.send(
            method, scene.filled(target), headers, body: body.map { Array(scene.filled($0).utf8) })
    }

    /// Where that is shown which the body of an answer shows.
    fileprivate func place(of answer: TestResponse) -> String? {
        switch self.answer {
        case .none: return nil
        case .ofLocation: return answer.headers["Location"]
        case .ofPath:
            let parts = target.split(separator: "/")
            return "/" + (method == "POST" ? parts.dropLast() : parts[...]).joined(separator: "/")
        }
    }
}
