import Semantics
import Testing

@testable import Engine

/// What gathers while the store is busy: the newest form of everything, once.
struct GatheredBatchTests {
    private static let (one, other) = (TaskID(rawValue: 1), TaskID(rawValue: 2))

    @Test func `a task has one content, the newest`() {
        var gathered = GatheredBatch()
        gathered.merge(.content([1], of: Self.one))
        gathered.merge(.content([2], of: Self.other))
        gathered.merge(.content([3], of: Self.one))
        #expect(gathered.batch.contents.map(\.task) == [Self.one, Self.other])
        #expect(gathered.batch.contents.map(\.bytes) == [[3], [2]])
        gathered.merge(.removedContent(of: Self.one))
        #expect(gathered.batch.contents.map(\.task) == [Self.other])
        gathered.merge(.content([4], of: Self.one))
        #expect(gathered.content(of: Self.one) == [4] && gathered.content(of: Self.other) == [2])
    }

    @Test func `decisions of several places are listed as far as all of them have looked`() {
        func decision(_ number: Int64) -> DecisionRecord {
            DecisionRecord.plain(DecisionID(rawValue: number))
        }
        func ids(_ page: DecisionPage) -> [Int64] { page.decisions.map(\.id.rawValue) }
        let first = DecisionPage([1, 4].map(decision), next: DecisionID(rawValue: 5))
        let second = DecisionPage([2, 3, 9].map(decision))
        let all = DecisionPage(merging: [first, second], limit: 4)
        #expect(ids(all) == [1, 2, 3, 4] && all.next == DecisionID(rawValue: 5))
        let some = DecisionPage(merging: [first, second], limit: 3)
        #expect(ids(some) == [1, 2, 3] && some.next == DecisionID(rawValue: 3))
        let end = DecisionPage(merging: [second], limit: 3)
        #expect(ids(end) == [2, 3, 9] && end.next == nil)
        // A page of damaged ones alone.
        let damaged = DecisionPage([], next: DecisionID(rawValue: 2))
        let behind = DecisionPage(merging: [damaged, second], limit: 2)
        #expect(ids(behind) == [2] && behind.next == DecisionID(rawValue: 2))
    }
}

extension DecisionRecord {
    fileprivate static func plain(_ id: DecisionID) -> DecisionRecord {
        let instant = Timestamp(milliseconds: 0)
        return DecisionRecord(
            id: id, tenant: .operatorTenant, session: SessionID(rawValue: 1),
            task: TaskID(rawValue: 1), kind: .delayedRequest, createdAt: instant,
            deadline: instant, question: .didFinishEvents)
    }
}
