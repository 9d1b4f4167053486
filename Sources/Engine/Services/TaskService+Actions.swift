internal import Loop
public import Semantics

/// What can be done to many tasks at once.
public enum TaskAction: String, CaseIterable, Sendable {
    case cancel, suspend, resume, delete, retry
}

/// What became of one of many tasks.
public struct TaskActionResult: Sendable {
    /// What an action has led to.
    public enum Outcome: Sendable {
        /// The task is in the state that was asked for, or has completed before.
        case done
        case deleted
        /// This one repeats it.
        case created(TaskID)
    }

    /// The task that was named, or found.
    public let task: TaskID
    /// What was done, or why nothing was.
    public let result: Result<Outcome, any Error>
}

extension TaskService {
    /// How many tasks are acted on at the same time: their commits go together, and the loop is
    /// given back in between.
    private static let windowSize = 32

    /// Does the same to many tasks, each as if it had been named alone; durable when it returns.
    ///
    /// A task that waits for its turn is cancelled or suspended before one that has had it, so that
    /// none begins for the sake of a place that is free for a moment.
    ///
    /// - Parameters:
    ///   - action: what is done.
    ///   - tasks: each once, 500 at most.
    ///   - tenant: whose they are: another's does not exist.
    ///   - isWanted: asked before each of them: what has been begun by then is brought to its end,
    ///     and nothing else is begun.
    ///   - retry: creates what repeats a task; it may know of an earlier request that has done so.
    /// - Returns: a result for each task, in the order in which they were given.
    public func perform(
        _ action: TaskAction, on tasks: [TaskID], of tenant: TenantID,
        while isWanted: @escaping @LoopActor () -> Bool = { true },
        retry: @escaping @LoopActor (TaskID) async throws -> TaskID
    ) async -> [TaskActionResult] {
        var results: [TaskID: TaskActionResult] = [:]
        let order =
            action.endsWork ? tasks.filter { !isOnWire($0) } + tasks.filter(isOnWire) : tasks
        for start in stride(from: 0, to: order.count, by: Self.windowSize) {
            let window = order[start..<min(order.count, start + Self.windowSize)]
            let begun = window.map { id in
                LoopActor.start { [self] in
                    guard isWanted() else {
                        return TaskActionResult(
                            task: id, result: .failure(GatewayError.callerIsGone))
                    }
                    return TaskActionResult(
                        task: id, result: await act(action, id, tenant, retry))
                }
            }
            for each in begun {
                let result = await each.value
                results[result.task] = result
            }
        }
        return tasks.compactMap { results[$0] }
    }

    private func act(
        _ action: TaskAction, _ id: TaskID, _ tenant: TenantID,
        _ retry: @LoopActor (TaskID) async throws -> TaskID
    ) async -> Result<TaskActionResult.Outcome, any Error> {
        do {
            switch action {
            case .cancel: _ = try await cancel(id, of: tenant)
            case .suspend: _ = try await suspend(id, of: tenant)
            case .resume: _ = try await resume(id, of: tenant)
            case .delete:
                try await delete(id, of: tenant)
                return .success(.deleted)
            case .retry: return .success(.created(try await retry(id)))
            }
            return .success(.done)
        } catch {
            return .failure(error)
        }
    }

    private func isOnWire(_ id: TaskID) -> Bool {
        directory.runners[id]?.machine.hasLiveAttempt ?? false
    }
}

extension TaskAction {
    /// Whether it gives places for transfers back.
    fileprivate var endsWork: Bool { self == .cancel || self == .suspend }

    /// The states of the tasks that a filter finds for it where it names none: those on which it
    /// has an effect.
    public var usualStates: Set<TaskState> {
        switch self {
        case .cancel: [.suspended, .running]
        case .suspend: [.running]
        case .resume: [.suspended]
        case .delete, .retry: [.completed]
        }
    }
}
