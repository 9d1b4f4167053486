import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What becomes of single tasks, from their creation to their last event.
@Suite(.onLoop)
struct TaskOutcomeTests {
    @Test @LoopActor
    func `a small body is kept in the store, and its events come in their order (S-57)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(
            200, ["Content-Type": "text/plain"], Array("hello".utf8))
        let record = try await house.finished(task)
        #expect(record.state == .completed && record.error == nil)
        #expect(record.content?.place == .store && record.content?.length == 5)
        #expect(try await house.read(task) == Array("hello".utf8))
        #expect(
            house.recorder.story(of: task) == [
                "didCreate", "didReceiveResponse", "didReceiveData", "didFinishCollectingMetrics",
                "didComplete",
            ])
    }
}
