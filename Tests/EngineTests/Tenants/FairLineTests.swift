import Semantics
import Testing

@testable import Engine

/// Tenants wait in one line, and are served in turn.
struct FairLineTests {
    private static let one = TenantID(rawValue: 1)
    private static let two = TenantID(rawValue: 2)
    private static let three = TenantID(rawValue: 3)

    private static func drain(
        _ line: inout FairLine<String>, cost: (String) -> Int = { _ in 1 }
    ) -> [String] {
        var served: [String] = []
        while let next = line.popFirst(cost: cost) { served.append(next) }
        return served
    }

    @Test(arguments: [1, 5])
    func `one tenant alone is served in the order in which it came`(share: Int) {
        var line = FairLine<String>(share: share)
        let names = (0..<100).map { "\($0)" }
        for name in names { line.append(name, of: Self.one) }
        #expect(Self.drain(&line, cost: { $0.count * 3 }) == names)
        #expect(line.isEmpty)
    }

    @Test func `tenants take turns, however many each has waiting`() {
        var line = FairLine<String>(share: 1)
        for number in 0..<1000 { line.append("a\(number)", of: Self.one) }
        line.append("b0", of: Self.two)
        line.append("b1", of: Self.two)
        line.append("c0", of: Self.three)
        #expect(Self.drain(&line).prefix(7) == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"])
    }

    @Test func `who comes later has its turn behind one of each of the others`() {
        var line = FairLine<String>(share: 1)
        for number in 0..<10 { line.append("a\(number)", of: Self.one) }
        #expect(line.popFirst(cost: { _ in 1 }) == "a0")
        line.append("b0", of: Self.two)
        #expect(line.popFirst(cost: { _ in 1 }) == "a1")
        #expect(line.popFirst(cost: { _ in 1 }) == "b0")
        #expect(line.popFirst(cost: { _ in 1 }) == "a2")
    }

    @Test func `that nobody could be served for a while changes nothing of whose turn it is`() {
        var line = FairLine<String>(share: 1)
        for number in 0..<3 {
            line.append("a\(number)", of: Self.one)
            line.append("b\(number)", of: Self.two)
        }
        var served: [String] = []
        while let next = line.popFirst(cost: { _ in 1 }) {
            served.append(next)
            #expect(line.popFirst(cost: { _ in 1 }, of: { _ in false }) == nil)
        }
        #expect(served == ["a0", "b0", "a1", "b1", "a2", "b2"])
    }

    @Test func `what costs more is made up for: in the long run each gets as much`() {
        var line = FairLine<String>(share: 4)
        for number in 0..<400 {
            line.append("large \(number)", of: Self.one)
            line.append("small \(number)", of: Self.two)
        }
        var spent = ["large": 0, "small": 0]
        for _ in 0..<200 {
            let cost = { (name: String) in name.hasPrefix("large") ? 7 : 1 }
            guard let next = line.popFirst(cost: cost) else { break }
            spent[String(next.prefix(5)), default: 0] += cost(next)
            // Never more apart than the dearest one and a share.
            #expect(abs(spent["large", default: 0] - spent["small", default: 0]) <= 7 + 4)
        }
        #expect(spent.values.reduce(0, +) >= 200)
    }

    @Test func `who cannot be served goes behind its equals, and saves nothing up`() {
        var line = FairLine<String>(share: 1)
        for name in ["a0", "a1", "a2"] { line.append(name, of: Self.one) }
        line.append("b0", of: Self.two)
        #expect(line.popFirst(cost: { _ in 1 }, where: { $0 != "a0" }) == "a1")
        #expect(line.popFirst(cost: { _ in 1 }, where: { !$0.hasPrefix("b") }) == "a2")
        #expect(line.popFirst(cost: { _ in 1 }, where: { _ in false }) == nil)
        #expect(line.popFirst(cost: { _ in 1 }, of: { $0 == Self.two }) == "b0")
        #expect(Self.drain(&line) == ["a0"])
    }

    @Test func `a tenant that is shut is not looked at`() {
        var line = FairLine<String>(share: 1)
        for number in 0..<1000 { line.append("a\(number)", of: Self.one) }
        line.append("b0", of: Self.two)
        var looks = 0
        let look = { (_: String) in
            looks += 1
            return true
        }
        let next = line.popFirst(cost: { _ in 1 }, of: { $0 == Self.two }, where: look)
        #expect(next == "b0" && looks == 1)
        // Nothing of its order has changed.
        #expect(line.popFirst(cost: { _ in 1 }) == "a0")
    }
}
