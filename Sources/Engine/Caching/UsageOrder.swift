/// Things with sizes, in the order in which they were used last. Every operation takes the same
/// time, however many there are; a thing costs some 60 bytes beside itself.
struct UsageOrder<Thing> {
    private struct Slot {
        var id: Int64
        var size: Int64
        var thing: Thing
        /// Neighbours in the order; -1 for none.
        var older: Int32
        var newer: Int32
    }

    private var slots: [Slot?] = []
    private var free: [Int32] = []
    private var places: [Int64: Int32] = [:]
    private var oldest: Int32 = -1
    private var newest: Int32 = -1
    /// The sizes of all.
    private(set) var total: Int64 = 0

    /// How many there are.
    var count: Int { places.count }

    /// The thing that was not used for the longest time.
    var leastRecent: (id: Int64, thing: Thing)? {
        guard oldest >= 0, let slot = slots[Int(oldest)] else { return nil }
        return (slot.id, slot.thing)
    }

    /// The thing of a name; looking is no use.
    subscript(id: Int64) -> Thing? {
        places[id].flatMap { slots[Int($0)]?.thing }
    }

    /// Puts a thing in, in place of the one of its name; it is the newest.
    mutating func insert(_ thing: Thing, as id: Int64, size: Int64) {
        _ = remove(id)
        let slot = Slot(id: id, size: size, thing: thing, older: newest, newer: -1)
        let place: Int32
        if let reused = free.popLast() {
            place = reused
            slots[Int(place)] = slot
        } else {
            place = Int32(slots.count)
            slots.append(slot)
        }
        if newest >= 0 { slots[Int(newest)]?.newer = place } else { oldest = place }
        newest = place
        places[id] = place
        total += size
    }

    /// A thing is used.
    mutating func touch(_ id: Int64) {
        guard let place = places[id], place != newest, let slot = slots[Int(place)] else { return }
        unlink(slot)
        slots[Int(place)]?.older = newest
        slots[Int(place)]?.newer = -1
        slots[Int(newest)]?.newer = place
        newest = place
    }

    /// Takes a thing out; nil where there is none.
    mutating func remove(_ id: Int64) -> Thing? {
        guard let place = places.removeValue(forKey: id), let slot = slots[Int(place)] else {
            return nil
        }
        unlink(slot)
        slots[Int(place)] = nil
        free.append(place)
        total -= slot.size
        return slot.thing
    }

    /// All of them, the one that was not used for the longest time first.
    var all: [(id: Int64, thing: Thing)] {
        var found: [(id: Int64, thing: Thing)] = []
        var place = oldest
        while place >= 0, let slot = slots[Int(place)] {
            found.append((slot.id, slot.thing))
            place = slot.newer
        }
        return found
    }

    /// Closes the gap that a slot leaves in the order.
    private mutating func unlink(_ slot: Slot) {
        let (older, newer) = (slot.older, slot.newer)
        if older >= 0 { slots[Int(older)]?.newer = newer } else { oldest = newer }
        if newer >= 0 { slots[Int(newer)]?.older = older } else { newest = older }
    }
}
