internal import Semantics

/// The parts of a tenant's downloads that resume data speaks of (S-34), with the bytes of each.
struct KeptParts {
    private var lengths: [TaskID: Int64] = [:]
    /// Those that have gone before the ones of earlier processes were counted, which may be among
    /// them; nil from then on.
    private var gone: Set<TaskID>? = []

    func contains(_ task: TaskID) -> Bool { lengths[task] != nil }

    mutating func add(_ task: TaskID, _ length: Int64) {
        lengths[task] = length
        gone?.remove(task)
    }

    /// - Returns: its bytes; nil where there is none that was counted.
    mutating func remove(_ task: TaskID) -> Int64? {
        gone?.insert(task)
        return lengths.removeValue(forKey: task)
    }

    /// Adds those that earlier processes have left, and that are still there.
    /// - Returns: the bytes of those that were not counted yet.
    mutating func recall(_ earlier: [TaskID: Int64]) -> Int64 {
        var sum: Int64 = 0
        for (task, length) in earlier where lengths[task] == nil && gone?.contains(task) == false {
            lengths[task] = length
            sum += length
        }
        gone = nil
        return sum
    }
}
