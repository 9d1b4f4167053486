internal import Semantics

/// Tasks at rest that were asked for lately, so that polling costs no look-up in the store.
///
/// Two generations: what is used moves to the young one; when that is full, the old one is dropped.
struct RecordCache {
    private let limit: Int
    private var young: [TaskID: TaskRecord] = [:]
    private var old: [TaskID: TaskRecord] = [:]

    /// Holds `limit` to twice as many tasks.
    init(limit: Int) { self.limit = limit }

    mutating func record(_ id: TaskID) -> TaskRecord? {
        if let record = young[id] { return record }
        guard let record = old[id] else { return nil }
        insert(record)
        return record
    }

    mutating func insert(_ record: TaskRecord) {
        if young.count >= limit {
            old = young
            young = [:]
        }
        young[record.id] = record
    }

    mutating func remove(_ id: TaskID) {
        young[id] = nil
        old[id] = nil
    }

    mutating func removeAll(where isOver: (TaskRecord) -> Bool) {
        young = young.filter { !isOver($0.value) }
        old = old.filter { !isOver($0.value) }
    }
}
