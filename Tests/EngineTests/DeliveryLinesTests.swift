import Semantics
import Testing

@testable import Engine

/// In which order events go out.
@Suite struct DeliveryLinesTests {
    private func event(_ body: EventBody = .didCreate, task: Int64? = nil, in session: Int64 = 1)
        -> Event
    {
        Event(
            tenant: .operatorTenant, session: SessionID(rawValue: session),
            task: task.map(TaskID.init), at: Timestamp(milliseconds: 0), body: body)
    }

    /// Takes out all that may go now.
    private func all(_ lines: inout DeliveryLines) -> [DeliveryLines.Turn] {
        var turns: [DeliveryLines.Turn] = []
        while let turn = lines.next() { turns.append(turn) }
        return turns
    }

    @Test func `the events of a task go one after the other, different tasks side by side`() {
        var lines = DeliveryLines()
        for (position, task) in [(1, 7), (2, 7), (3, 8), (4, 7), (5, 8)] as [(Int64, Int64)] {
            lines.add(event(task: task), at: position)
        }
        var turns = all(&lines)
        #expect(turns.map(\.position) == [1, 3])
        lines.settle(turns[1])
        turns = [turns[0]] + all(&lines)
        #expect(turns.map(\.position) == [1, 5])
        #expect(lines.oldest == 1 && lines.count == 4)
        lines.settle(turns[0])
        turns = [turns[1]] + all(&lines)
        #expect(turns.map(\.position) == [5, 2])
        // What was settled out of turn does not count while an older one is not.
        #expect(lines.oldest == 2)
        lines.settle(turns[1])
        #expect(lines.oldest == 4)
    }

    @Test func `that a session has no more to tell follows everything before it, and nothing else`()
    {
        var lines = DeliveryLines()
        lines.add(event(task: 7), at: 1)
        lines.add(event(task: 8), at: 2)
        lines.add(event(task: 9, in: 2), at: 3)
        lines.add(event(.didFinishEvents), at: 4)
        lines.add(event(task: 10), at: 5)
        let turns = all(&lines)
        #expect(turns.map(\.position) == [1, 2, 3, 5])
        lines.settle(turns[3])
        lines.settle(turns[0])
        #expect(lines.next() == nil)
        lines.settle(turns[1])
        #expect(all(&lines).map(\.position) == [4])
        #expect(lines.count == 2)
    }

    @Test func `two ends of a session follow each other`() {
        var lines = DeliveryLines()
        lines.add(event(.didChangeCredentialStorage), at: 1)
        lines.add(event(.didFinishEvents), at: 2)
        lines.add(event(.didBecomeInvalid(nil)), at: 3)
        for position in 1...3 as ClosedRange<Int64> {
            let turns = all(&lines)
            #expect(turns.map(\.position) == [position])
            for turn in turns { lines.settle(turn) }
        }
        #expect(lines.count == 0 && lines.oldest == nil)
    }

    @Test func `an end behind the session's own event and a task's follows both`() {
        for order in [[0, 1], [1, 0]] {
            var lines = DeliveryLines()
            lines.add(event(.didChangeCredentialStorage), at: 1)
            lines.add(event(task: 7), at: 2)
            lines.add(event(.didFinishEvents), at: 3)
            let turns = all(&lines)
            lines.settle(turns[order[0]])
            #expect(lines.next() == nil)
            lines.settle(turns[order[1]])
            #expect(all(&lines).map(\.position) == [3])
        }
    }

    @Test func `what is put back goes first, and what is sent once more moves no cursor`() {
        var lines = DeliveryLines()
        lines.add(event(task: 7), at: 11)
        lines.add(event(task: 8), at: 12)
        lines.addAgain(3, of: SessionID(rawValue: 1))
        let turns = all(&lines)
        #expect(turns.map(\.position) == [11, 12, 3])
        lines.putBack(turns[1])
        #expect(lines.next()?.position == 12)
        #expect(lines.oldest == 11 && lines.count == 3)
        lines.settle(turns[2])
        #expect(lines.oldest == 11 && lines.count == 2)
    }

    @Test func `what waits in its turn, or is under way in it, is told from what is settled`() {
        var lines = DeliveryLines()
        for (position, task) in [(3, 7), (5, 8), (8, 7)] as [(Int64, Int64)] {
            lines.add(event(task: task), at: position)
        }
        lines.addAgain(1, of: SessionID(rawValue: 1))
        let turns = all(&lines)
        #expect((0...9).filter(lines.hasInTurn) == [3, 5, 8])
        lines.settle(turns[1])
        #expect((0...9).filter(lines.hasInTurn) == [3, 8])
        lines.settle(turns[0])
        #expect((0...9).filter(lines.hasInTurn) == [8])
    }

    @Test func `what is sent once more is so once, however often that is asked for meanwhile`() {
        var lines = DeliveryLines()
        for _ in 0..<2 { lines.addAgain(3, of: SessionID(rawValue: 1)) }
        let turns = all(&lines)
        #expect(turns.map(\.position) == [3])
        lines.addAgain(3, of: SessionID(rawValue: 1))
        #expect(lines.next() == nil)
        lines.settle(turns[0])
        #expect(lines.count == 0)
        lines.addAgain(3, of: SessionID(rawValue: 1))
        #expect(all(&lines).map(\.position) == [3])
    }
}
