import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Turns of those who search the store.
@Suite(.onLoop)
struct SearchQueueTests {
    @Test @LoopActor
    func `who searches seldom waits for one step of each who searches often`() async throws {
        let queue = SearchQueue()
        let (often, seldom) = (TenantID(rawValue: 1), TenantID(rawValue: 2))
        let gate = Gate()
        var order: [TenantID] = []
        func search(_ tenant: TenantID) -> Task<Void, Never> {
            LoopActor.start {
                await queue.step(of: tenant) {
                    order.append(tenant)
                    while !gate.isOpen { await LoopActor.nextTurn(after: .milliseconds(1)) }
                }
            }
        }
        var searches = (0..<20).map { _ in search(often) }
        try await eventually("three steps") { order.count == 3 }
        searches.append(search(seldom))
        // Behind the job that has it wait in the queue.
        await LoopActor.start {}.value
        #expect(order == [often, often, often])
        gate.open()
        for search in searches { await search.value }
        #expect(order.count == 21)
        #expect(try #require(order.firstIndex(of: seldom)) <= 5)
    }
}
