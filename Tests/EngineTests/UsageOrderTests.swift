import Testing

@testable import Engine

/// What a cache gives up first: the order of use, with sizes (S-24).
struct UsageOrderTests {
    /// The same by hand: an array, oldest first.
    private struct Model {
        var entries: [(id: Int64, thing: String, size: Int64)] = []
        var total: Int64 { entries.reduce(0) { $0 + $1.size } }

        mutating func take(_ id: Int64) -> (id: Int64, thing: String, size: Int64)? {
            entries.firstIndex { $0.id == id }.map { entries.remove(at: $0) }
        }

        mutating func insert(_ thing: String, as id: Int64, size: Int64) {
            _ = take(id)
            entries.append((id, thing, size))
        }

        mutating func touch(_ id: Int64) {
            if let entry = take(id) { entries.append(entry) }
        }

        func expectEqual(_ order: UsageOrder<String>, _ words: Comment) {
            #expect(order.all.map(\.id) == entries.map(\.id), words)
            #expect(order.all.map(\.thing) == entries.map(\.thing), words)
            #expect(order.total == total && order.count == entries.count, words)
            #expect(order.leastRecent?.id == entries.first?.id, words)
            #expect(order.leastRecent?.thing == entries.first?.thing, words)
        }
    }

    private enum Step {
        case insert(Int64, Int64)
        case touch(Int64)
        case remove(Int64)
    }

    private static let tables: [([Step], [Int64], Int64)] = [
        ([], [], 0),
        ([.touch(1), .remove(1)], [], 0),
        ([.insert(1, 5)], [1], 5),
        ([.insert(1, 5), .touch(1)], [1], 5),
        ([.insert(1, 5), .remove(1)], [], 0),
        ([.insert(1, 5), .remove(1), .insert(2, 3)], [2], 3),
        ([.insert(1, 1), .insert(2, 2), .insert(3, 4)], [1, 2, 3], 7),
        // Used: the oldest, one in the middle, the newest.
        ([.insert(1, 1), .insert(2, 2), .insert(3, 4), .touch(1)], [2, 3, 1], 7),
        ([.insert(1, 1), .insert(2, 2), .insert(3, 4), .touch(2)], [1, 3, 2], 7),
        ([.insert(1, 1), .insert(2, 2), .insert(3, 4), .touch(3)], [1, 2, 3], 7),
        ([.insert(1, 1), .insert(2, 2), .touch(9)], [1, 2], 3),
        // Taken out: the same three.
        ([.insert(1, 1), .insert(2, 2), .insert(3, 4), .remove(1)], [2, 3], 6),
        ([.insert(1, 1), .insert(2, 2), .insert(3, 4), .remove(2)], [1, 3], 5),
        ([.insert(1, 1), .insert(2, 2), .insert(3, 4), .remove(3)], [1, 2], 3),
        // In place of itself, with another size.
        ([.insert(1, 1), .insert(2, 2), .insert(1, 8)], [2, 1], 10),
        ([.insert(1, 1), .insert(1, 0)], [1], 0),
        // A place that has come free is taken again.
        (
            [.insert(1, 1), .insert(2, 2), .insert(3, 4), .remove(2), .insert(4, 8), .touch(1)],
            [3, 4, 1], 13
        ),
    ]

    @Test(arguments: tables.indices)
    func `what was used last comes last, whatever came between (S-24)`(number: Int) {
        let (steps, ids, total) = Self.tables[number]
        var order = UsageOrder<String>()
        for step in steps {
            switch step {
            case .insert(let id, let size): order.insert("\(id)", as: id, size: size)
            case .touch(let id): order.touch(id)
            case .remove(let id): _ = order.remove(id)
            }
        }
        #expect(order.all.map(\.id) == ids)
        #expect(order.all.map(\.thing) == ids.map(String.init))
        #expect(order.total == total && order.count == ids.count)
        #expect(order.leastRecent?.id == ids.first)
    }

    @Test
    func `looking at a thing is no use, taking it out gives it back once`() {
        var order = UsageOrder<String>()
        order.insert("a", as: 1, size: 1)
        order.insert("b", as: 2, size: 1)
        #expect(order[1] == "a" && order[3] == nil)
        #expect(order.all.map(\.id) == [1, 2])
        #expect(order.remove(1) == "a")
        #expect(order.remove(1) == nil && order[1] == nil)
        order.insert("c", as: 2, size: 7)
        #expect(order[2] == "c" && order.total == 7)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
    func `after any operations it is as an array would be (S-24)`(seed: UInt64) {
        var numbers = Numbers(seed)
        var order = UsageOrder<String>()
        var model = Model()
        for step in 0..<2000 {
            let id = Int64(numbers.next(seed.isMultiple(of: 2) ? 8 : 64))
            switch numbers.next(8) {
            case 0...3:
                let size = Int64(numbers.next(100))
                order.insert("\(step)", as: id, size: size)
                model.insert("\(step)", as: id, size: size)
            case 4, 5:
                order.touch(id)
                model.touch(id)
            default:
                #expect(order.remove(id) == model.take(id)?.thing)
            }
            #expect(order[id] == model.entries.first { $0.id == id }?.thing)
            if step.isMultiple(of: 7) { model.expectEqual(order, "seed \(seed), step \(step)") }
        }
        for entry in model.entries { #expect(order.remove(entry.id) == entry.thing) }
        #expect(order.count == 0 && order.total == 0 && order.leastRecent == nil)
    }
}

/// Numbers that are the same in every run (Marsaglia's xorshift).
struct Numbers {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    /// 0 up to but not including `bound`.
    mutating func next(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(truncatingIfNeeded: (state >> 16) % UInt64(bound))
    }
}

/// One tier of a cache: what is found in it, and what has to go for it (S-24).
struct CacheTierTests {
    @Test
    func `the oldest go until there is room, and are told in their order`() {
        var tier = CacheTier<Int64, String>(capacity: 10)
        #expect(tier.insert("a", as: 1, under: 100, size: 4).isEmpty)
        #expect(tier.insert("b", as: 2, under: 100, size: 4).isEmpty)
        #expect(tier.insert("c", as: 3, under: 200, size: 2).isEmpty)  // full to the byte
        #expect(tier.usage == 10 && tier.count == 3)
        tier.touch(1)
        let gone = tier.insert("d", as: 4, under: 300, size: 5)
        #expect(gone.map(\.id) == [2, 3] && gone.map(\.item) == ["b", "c"])
        #expect(tier.all.map(\.id) == [1, 4] && tier.usage == 9)
        #expect(tier.ids(under: 100) == [1])
        #expect(tier.ids(under: 200) == [] && tier.ids(under: 300) == [4])
        #expect(tier[2] == nil && tier[4] == "d")
    }

    @Test
    func `what is larger than the tier goes at once, with all that it has pushed out`() {
        var tier = CacheTier<Int64, String>(capacity: 10)
        _ = tier.insert("a", as: 1, under: 100, size: 4)
        #expect(tier.insert("b", as: 2, under: 100, size: 11).map(\.id) == [1, 2])
        #expect(tier.count == 0 && tier.usage == 0 && tier.ids(under: 100).isEmpty)
        #expect(tier.insert("c", as: 3, under: 100, size: 10).isEmpty)
        #expect(tier.usage == 10)
    }

    @Test
    func `what takes the place of itself has the new size, and is found once`() {
        var tier = CacheTier<Int64, String>(capacity: 10)
        _ = tier.insert("a", as: 1, under: 100, size: 4)
        _ = tier.insert("b", as: 2, under: 100, size: 4)
        #expect(tier.insert("c", as: 1, under: 100, size: 7).map(\.id) == [2])
        #expect(tier.ids(under: 100) == [1] && tier.usage == 7 && tier[1] == "c")
        #expect(tier.remove(1) == "c" && tier.remove(1) == nil)
        #expect(tier.ids(under: 100) == [] && tier.usage == 0)
    }

    @Test
    func `emptied, it has its capacity still (S-12)`() {
        var tier = CacheTier<Int64, String>(capacity: 10)
        _ = tier.insert("a", as: 1, under: 100, size: 8)
        tier.removeAll()
        #expect(tier.count == 0 && tier.usage == 0 && tier.ids(under: 100) == [])
        #expect(tier.insert("b", as: 2, under: 100, size: 10).isEmpty)
        #expect(tier.insert("c", as: 3, under: 100, size: 1).map(\.id) == [2])
    }

    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6])
    func `it never holds more than its capacity, and gives up what was not used (S-24)`(
        seed: UInt64
    ) {
        var numbers = Numbers(seed)
        var tier = CacheTier<Int64, Int>(capacity: 1000)
        // Oldest first.
        var model: [(id: Int64, item: Int, fingerprint: Int64, size: Int64)] = []
        for step in 0..<2000 {
            let id = Int64(numbers.next(40))
            let fingerprint = id / 3  // one name, one fingerprint
            switch numbers.next(6) {
            case 0...2:
                let size = Int64(numbers.next(step.isMultiple(of: 50) ? 1100 : 200))
                let gone = tier.insert(step, as: id, under: fingerprint, size: size)
                model.removeAll { $0.id == id }
                model.append((id, step, fingerprint, size))
                var expected: [Int64] = []
                while model.reduce(0, { $0 + $1.size }) > 1000 {
                    expected.append(model.removeFirst().id)
                }
                #expect(gone.map(\.id) == expected)
            case 3, 4:
                tier.touch(id)
                if let place = model.firstIndex(where: { $0.id == id }) {
                    model.append(model.remove(at: place))
                }
            default:
                let place = model.firstIndex { $0.id == id }
                #expect(tier.remove(id) == place.map { model[$0].item })
                if let place { model.remove(at: place) }
            }
            #expect(tier.all.map(\.id) == model.map(\.id))
            #expect(tier.all.map(\.item) == model.map(\.item))
            #expect(tier.usage == model.reduce(0) { $0 + $1.size } && tier.usage <= 1000)
            #expect(
                Set(tier.ids(under: fingerprint))
                    == Set(model.filter { $0.fingerprint == fingerprint }.map(\.id)))
            #expect(tier.count == model.count)
        }
    }
}
