import Semantics
import Testing

@testable import Engine

/// In which order events go out.
@Suite struct DeliveryQueuesTests {
    private func event(_ body: EventBody = .didCreate, task: Int64? = nil, in session: Int64 = 1)
        -> Event
    {
        Event(
            tenant: .operatorTenant, session: SessionID(rawValue: session),
            task: task.map(TaskID.init), at: Timestamp(milliseconds: 0), body: body)
    }

    /// Takes out all that may go now.
    private func all(_ queues: inout DeliveryQueues) -> [DeliveryQueues.Turn] {
        var turns: [DeliveryQueues.Turn] = []
        while let turn = queues.next() { turns.append(turn) }
        return turns
    }

    @Test func `the events of a task go one after the other, different tasks side by side`() {
        var queues = DeliveryQueues()
        for (position, task) in [(1, 7), (2, 7), (3, 8), (4, 7), (5, 8)] as [(Int64, Int64)] {
            queues.add(event(task: task), at: position)
        }
        var turns = all(&queues)
        #expect(turns.map(\.position) == [1, 3])
        queues.settle(turns[1])
        turns = [turns[0]] + all(&queues)
        #expect(turns.map(\.position) == [1, 5])
        #expect(queues.oldest == 1 && queues.count == 4)
        queues.settle(turns[0])
        turns = [turns[1]] + all(&queues)
        #expect(turns.map(\.position) == [5, 2])
        // What was settled out of turn does not count while an older one is not.
        #expect(queues.oldest == 2)
        queues.settle(turns[1])
        #expect(queues.oldest == 4)
    }

    @Test func `that a session has no more to tell follows everything before it, and nothing else`()
    {
        var queues = DeliveryQueues()
        queues.add(event(task: 7), at: 1)
        queues.add(event(task: 8), at: 2)
        queues.add(event(task: 9, in: 2), at: 3)
        queues.add(event(.didFinishEvents), at: 4)
        queues.add(event(task: 10), at: 5)
        let turns = all(&queues)
        #expect(turns.map(\.position) == [1, 2, 3, 5])
        queues.settle(turns[3])
        queues.settle(turns[0])
        #expect(queues.next() == nil)
        queues.settle(turns[1])
        #expect(all(&queues).map(\.position) == [4])
        #expect(queues.count == 2)
    }

    @Test func `two ends of a session follow each other`() {
        var queues = DeliveryQueues()
        queues.add(event(.didChangeCredentialStorage), at: 1)
        queues.add(event(.didFinishEvents), at: 2)
        queues.add(event(.didBecomeInvalid(nil)), at: 3)
        for position in 1...3 as ClosedRange<Int64> {
            let turns = all(&queues)
            #expect(turns.map(\.position) == [position])
            for turn in turns { queues.settle(turn) }
        }
        #expect(queues.count == 0 && queues.oldest == nil)
    }

    @Test func `an end behind the session's own event and a task's follows both`() {
        for order in [[0, 1], [1, 0]] {
            var queues = DeliveryQueues()
            queues.add(event(.didChangeCredentialStorage), at: 1)
            queues.add(event(task: 7), at: 2)
            queues.add(event(.didFinishEvents), at: 3)
            let turns = all(&queues)
            queues.settle(turns[order[0]])
            #expect(queues.next() == nil)
            queues.settle(turns[order[1]])
            #expect(all(&queues).map(\.position) == [3])
        }
    }

    @Test func `what is put back goes first, and what is sent once more moves no cursor`() {
        var queues = DeliveryQueues()
        queues.add(event(task: 7), at: 11)
        queues.add(event(task: 8), at: 12)
        queues.addAgain(3, of: SessionID(rawValue: 1))
        let turns = all(&queues)
        #expect(turns.map(\.position) == [11, 12, 3])
        queues.putBack(turns[1])
        #expect(queues.next()?.position == 12)
        #expect(queues.oldest == 11 && queues.count == 3)
        queues.settle(turns[2])
        #expect(queues.oldest == 11 && queues.count == 2)
    }

    @Test func `what waits in its turn, or is under way in it, is told from what is settled`() {
        var queues = DeliveryQueues()
        for (position, task) in [(3, 7), (5, 8), (8, 7)] as [(Int64, Int64)] {
            queues.add(event(task: task), at: position)
        }
        queues.addAgain(1, of: SessionID(rawValue: 1))
        let turns = all(&queues)
        #expect((0...9).filter(queues.hasInTurn) == [3, 5, 8])
        queues.settle(turns[1])
        #expect((0...9).filter(queues.hasInTurn) == [3, 8])
        queues.settle(turns[0])
        #expect((0...9).filter(queues.hasInTurn) == [8])
    }

    @Test func `what is sent once more is so once, however often that is asked for meanwhile`() {
        var queues = DeliveryQueues()
        for _ in 0..<2 { queues.addAgain(3, of: SessionID(rawValue: 1)) }
        let turns = all(&queues)
        #expect(turns.map(\.position) == [3])
        queues.addAgain(3, of: SessionID(rawValue: 1))
        #expect(queues.next() == nil)
        queues.settle(turns[0])
        #expect(queues.count == 0)
        queues.addAgain(3, of: SessionID(rawValue: 1))
        #expect(all(&queues).map(\.position) == [3])
    }
}
