import TestSupport
import Testing

import Semantics

/// Random schedules of several connections, followed byte by byte.
struct SegmentPlanPropertyTests {
    @Test(arguments: 0..<80)
    func `every byte belongs to one at a time and arrives once, whoever comes and goes`(
        seed: UInt64
    ) throws {
        var schedule = Schedule(seed: seed)
        var steps = 0
        while !schedule.plan.isComplete {
            schedule.step()
            try schedule.check()
            steps += 1
            try #require(steps < 100_000, "seed \(seed) does not come to an end")
        }
        #expect(schedule.isWhole, "seed \(seed)")
    }

    /// A plan, its connections, and a record of every byte beside it.
    private struct Schedule {
        private(set) var plan: SegmentPlan
        private var random: SeededGenerator
        private var isThere: [Bool]
        private var isTwice = false
        private var isMisplaced = false
        private var segments: [Int] = []
        private var now = Duration.zero
        private let connections: Int
        private let failures: Double

        var isWhole: Bool { isThere.allSatisfy(\.self) && !isTwice && !isMisplaced }

        init(seed: UInt64) {
            var random = SeededGenerator(seed)
            let total = Int64.random(in: 0...1000, using: &random)
            let alignment = Int64(1) << Int64.random(in: 0...6, using: &random)
            let kept: [Range<Int64>] = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                let start = Int64.random(in: 0...total, using: &random)
                return start..<start + Int64.random(in: 0...200, using: &random)
            }
            self.plan = SegmentPlan(
                total: total, received: kept, alignment: alignment,
                smallestSplit: Int64.random(in: 1...100, using: &random))
            self.isThere = Array(repeating: false, count: Int(total))
            for range in plan.received { for byte in range { isThere[Int(byte)] = true } }
            self.connections = Int.random(in: 1...16, using: &random)
            self.failures = Double.random(in: 0...0.3, using: &random)
            self.random = random
        }

        mutating func step() {
            now += .milliseconds(Int64.random(in: 0...200, using: &random))
            if segments.count < connections, Bool.random(using: &random) {
                begin()
            } else if let index = segments.indices.randomElement(using: &random) {
                goOn(index)
            }
        }

        private mutating func begin() {
            guard let segment = plan.assign(at: now) else { return }
            let start = Int(segment.start)
            // A writer begins at the border of a block, or behind bytes that it finds in the block.
            isMisplaced =
                isMisplaced || isThere[start]
                || !(segment.start % plan.alignment == 0 || isThere[start - 1])
            segments.append(segment.id)
            if Double.random(in: 0..<1, using: &random) < 0.2 { plan.setStreamsToEnd(segment.id) }
        }

        private mutating func goOn(_ index: Int) {
            let id = segments[index]
            let left = plan.end(of: id) - plan.position(of: id)
            let isLost = Double.random(in: 0..<1, using: &random) < failures
            if !isLost, left > 0 {
                let count = Int64.random(in: 0...min(left, 100), using: &random)
                for byte in Int(plan.position(of: id))..<Int(plan.position(of: id) + count) {
                    isTwice = isTwice || isThere[byte]
                    isThere[byte] = true
                }
                plan.advance(id, by: count, at: now)
            } else {
                plan.release(id)
                segments.remove(at: index)
            }
        }

        func check() throws {
            var owners = isThere.map { $0 ? 1 : 0 }
            for id in segments {
                for byte in plan.position(of: id)..<plan.end(of: id) { owners[Int(byte)] += 1 }
            }
            for gap in plan.gaps { for byte in gap { owners[Int(byte)] += 1 } }
            try #require(owners.allSatisfy { $0 == 1 })
            try #require(plan.receivedCount == isThere.count { $0 })
            try #require(
                plan.received.allSatisfy { range in
                    range.lowerBound % plan.alignment == 0
                        && range.allSatisfy { isThere[Int($0)] }
                })
            let ends = plan.gaps.map(\.upperBound) + segments.map(plan.end(of:))
            try #require(ends.allSatisfy { $0 % plan.alignment == 0 || $0 == plan.total })
        }
    }
}
