import Engine
import Testing

struct RecentCacheTests {
    @Test func `what is used stays, what is not goes`() {
        var cache = RecentCache<Int, String>(limit: 3)
        for key in 1...3 { cache[key] = "\(key)" }
        for key in 4...6 {
            #expect(cache[1] == "1")
            cache[key] = "\(key)"
        }
        #expect(cache[1] == "1")
        let kept = (2...6).filter { cache[$0] != nil }
        #expect(kept.count < 5 && kept.contains(6))
    }

    @Test func `what is set to nil is gone, in both generations`() {
        var cache = RecentCache<Int, Int>(limit: 2)
        for key in 1...3 { cache[key] = key }
        cache[1] = nil
        cache[3] = nil
        #expect(cache[1] == nil && cache[3] == nil && cache[2] == 2)
        cache.removeAll { $0 == 2 }
        #expect(cache[2] == nil)
    }

    @Test func `values of a cost take each other's room`() {
        let limit = 1000
        var cache = RecentCache<Int, [UInt8]>(limit: limit) { $0.count }
        for round in 0..<5 {
            for key in 0..<100 { cache[key] = Array(repeating: UInt8(round), count: 100) }
        }
        let held = (0..<100).reduce(0) { $0 + (cache[$1]?.count ?? 0) }
        #expect(held > 0 && held <= 2 * limit)
        // One that is larger than all has the place for itself.
        cache[200] = Array(repeating: 1, count: 5 * limit)
        #expect(cache[200]?.count == 5 * limit)
        cache[201] = [1]
        cache[202] = Array(repeating: 1, count: limit)
        #expect(cache[200] == nil)
    }

    @Test func `replacing and removing give the cost back`() {
        var cache = RecentCache<Int, [UInt8]>(limit: 100) { $0.count }
        cache[1] = [1]
        for _ in 0..<50 {
            cache[2] = Array(repeating: 2, count: 60)
            cache[3] = Array(repeating: 3, count: 30)
            cache[3] = nil
        }
        #expect(cache[1] == [1] && cache[2]?.count == 60)
    }
}
