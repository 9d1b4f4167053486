package import Engine
package import Semantics

/// A task's state as a number.
///
/// From 2 on, because 0 and 1 take no byte in a row and a change of state must not change the row's
/// size. The partial index `task_outstanding` has those below `completed`.
package enum StoredState: Int64, CaseIterable {
    case suspended = 2
    case running = 3
    case canceling = 4
    case completed = 5
    /// Forgotten, but for what stored events are told from. Nobody sees the task any more.
    case removed = 6

    package init(_ state: TaskState) {
        self =
            switch state {
            case .suspended: .suspended
            case .running: .running
            case .canceling: .canceling
            case .completed: .completed
            }
    }

    /// The state that is shown; nil for a task that has been removed.
    package var shown: TaskState? {
        switch self {
        case .suspended: .suspended
        case .running: .running
        case .canceling: .canceling
        case .completed: .completed
        case .removed: nil
        }
    }

    /// Whether `task_outstanding` has it.
    package var isOutstanding: Bool { self != .completed && self != .removed }
}

extension DecisionState {
    /// The state as a number, of one size as those of tasks are. The partial index
    /// `decision_pending` has 2.
    package var stored: Int64 {
        switch self {
        case .pending: 2
        case .answered: 3
        case .expired: 4
        case .withdrawn: 5
        }
    }

    /// The state with this number.
    package init(stored: Int64) throws(StoreError) {
        guard let state = DecisionState.allCases.first(where: { $0.stored == stored }) else {
            throw .damagedRecord
        }
        self = state
    }
}

extension TaskType {
    /// The type as a number.
    package var stored: Int64 {
        switch self {
        case .data: 0
        case .download: 1
        case .upload: 2
        }
    }

    /// The type with this number.
    package init(stored: Int64) throws(StoreError) {
        guard let type = TaskType.allCases.first(where: { $0.stored == stored }) else {
            throw .damagedRecord
        }
        self = type
    }
}
