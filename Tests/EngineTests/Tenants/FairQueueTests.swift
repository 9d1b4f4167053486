import Semantics
import Testing

@testable import Engine

/// Tenants wait in one queue, and are served in turn.
struct FairQueueTests {
    private static let one = TenantID(rawValue: 1)
    private static let two = TenantID(rawValue: 2)
    private static let three = TenantID(rawValue: 3)

    private static func drain(
        _ queue: inout FairQueue<String>, cost: (String) -> Int = { _ in 1 }
    ) -> [String] {
        var served: [String] = []
        while let next = queue.popFirst(cost: cost) { served.append(next) }
        return served
    }

    @Test(arguments: [1, 5])
    func `one tenant alone is served in the order in which it came`(share: Int) {
        var queue = FairQueue<String>(share: share)
        let names = (0..<100).map { "\($0)" }
        for name in names { queue.append(name, of: Self.one) }
        #expect(Self.drain(&queue, cost: { $0.count * 3 }) == names)
        #expect(queue.isEmpty)
    }

    @Test func `tenants take turns, however many each has waiting`() {
        var queue = FairQueue<String>(share: 1)
        for number in 0..<1000 { queue.append("a\(number)", of: Self.one) }
        queue.append("b0", of: Self.two)
        queue.append("b1", of: Self.two)
        queue.append("c0", of: Self.three)
        #expect(Self.drain(&queue).prefix(7) == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"])
    }

    @Test func `who comes later has its turn behind one of each of the others`() {
        var queue = FairQueue<String>(share: 1)
        for number in 0..<10 { queue.append("a\(number)", of: Self.one) }
        #expect(queue.popFirst(cost: { _ in 1 }) == "a0")
        queue.append("b0", of: Self.two)
        #expect(queue.popFirst(cost: { _ in 1 }) == "a1")
        #expect(queue.popFirst(cost: { _ in 1 }) == "b0")
        #expect(queue.popFirst(cost: { _ in 1 }) == "a2")
    }

    @Test func `that nobody could be served for a while changes nothing of whose turn it is`() {
        var queue = FairQueue<String>(share: 1)
        for number in 0..<3 {
            queue.append("a\(number)", of: Self.one)
            queue.append("b\(number)", of: Self.two)
        }
        var served: [String] = []
        while let next = queue.popFirst(cost: { _ in 1 }) {
            served.append(next)
            #expect(queue.popFirst(cost: { _ in 1 }, of: { _ in false }) == nil)
        }
        #expect(served == ["a0", "b0", "a1", "b1", "a2", "b2"])
    }

    @Test func `what costs more is made up for: in the long run each gets as much`() {
        var queue = FairQueue<String>(share: 4)
        for number in 0..<400 {
            queue.append("large \(number)", of: Self.one)
            queue.append("small \(number)", of: Self.two)
        }
        var spent = ["large": 0, "small": 0]
        for _ in 0..<200 {
            let cost = { (name: String) in name.hasPrefix("large") ? 7 : 1 }
            guard let next = queue.popFirst(cost: cost) else { break }
            spent[String(next.prefix(5)), default: 0] += cost(next)
            // Never more apart than the dearest one and a share.
            #expect(abs(spent["large", default: 0] - spent["small", default: 0]) <= 7 + 4)
        }
        #expect(spent.values.reduce(0, +) >= 200)
    }

    @Test func `who cannot be served goes behind its equals, and saves nothing up`() {
        var queue = FairQueue<String>(share: 1)
        for name in ["a0", "a1", "a2"] { queue.append(name, of: Self.one) }
        queue.append("b0", of: Self.two)
        #expect(queue.popFirst(cost: { _ in 1 }, where: { $0 != "a0" }) == "a1")
        #expect(queue.popFirst(cost: { _ in 1 }, where: { !$0.hasPrefix("b") }) == "a2")
        #expect(queue.popFirst(cost: { _ in 1 }, where: { _ in false }) == nil)
        #expect(queue.popFirst(cost: { _ in 1 }, of: { $0 == Self.two }) == "b0")
        #expect(Self.drain(&queue) == ["a0"])
    }

    @Test func `a tenant that is shut is not looked at`() {
        var queue = FairQueue<String>(share: 1)
        for number in 0..<1000 { queue.append("a\(number)", of: Self.one) }
        queue.append("b0", of: Self.two)
        var looks = 0
        let look = { (_: String) in
            looks += 1
            return true
        }
        let next = queue.popFirst(cost: { _ in 1 }, of: { $0 == Self.two }, where: look)
        #expect(next == "b0" && looks == 1)
        // Nothing of its order has changed.
        #expect(queue.popFirst(cost: { _ in 1 }) == "a0")
    }
}
