/// The life of one task as a value: an input goes in, orders come out, nothing is performed here.
///
/// A task is a series of attempts, one exchange with one server each. What arrives instead of a
/// useful answer ends the attempt; what follows from it starts the next one (S-29…S-33, S-68). A
/// suspended task does not move: what comes for it meanwhile counts when it is resumed (S-77).
public struct TaskMachine: Equatable, Sendable {
    /// Where the task is.
    public enum Phase: Equatable, Sendable {
        /// Not resumed, or suspended without an attempt; with what counts when it is resumed
        /// (S-77).
        case suspended(Outcome?)
        /// Resumed, before its `earliestBeginDate` (S-44).
        case waitingForBeginDate
        /// Resumed, until the client, or the clock, has decided what the next attempt is to be
        /// (§7).
        case waitingForDecision
        /// Resumed, until the client pipes the body that the next attempt sends (S-39).
        case waitingForBody
        /// Resumed, behind other transfers to its host (S-19, S-43).
        case waitingForSlot
        /// An attempt is on the wire.
        case attempting
        /// Suspended while an attempt is on the wire: the connection is kept (S-32).
        case held
        /// Resumed, between an attempt that failed and one that shall do better.
        case waitingForRetry
        /// Resumed, until there is a way to the server (S-26).
        case waitingForConnectivity
        /// The answer is whole; its content is being put in its place. With what counts when the
        /// task is resumed, if it was suspended meanwhile.
        case finishing(Outcome?)
        /// The task is over, for this reason, once a part of its content is in safety (S-34, S-58).
        case ending(TransferError)
        /// The process is about to end: nothing moves, and the record tells the next one of it
        ///
        case settled
        /// Another process will go on with the task, or tell what became of it (S-56).
        case abandoned
        /// The end: nothing leaves it (S-31).
        case completed
    }

    /// What brings a task to its end, or nearer to it.
    public enum Outcome: Equatable, Sendable {
        /// There is a whole answer.
        case answered
        /// The content is where it belongs.
        case contentKept
        case failed(TransferError)
    }

    /// What has happened. Any input may come in any phase: one that is late or repeated changes
    /// nothing.
    public enum Input: Equatable, Sendable {
        /// `beginsLater` is true while `earliestBeginDate` lies ahead.
        case resume(beginsLater: Bool)
        case suspend
        case cancel
        case beginDateReached
        case decided
        case bodyGiven
        case slotGranted
        /// The connection was kept long enough for a suspended task, which can go on with another
        /// one (S-32).
        case detach
        /// The attempt has ended, and another one follows at once: to where a redirect leads, or
        /// for what is missing.
        case again
        /// The attempt has failed, and another one follows later.
        case retry
        case retryDue
        /// The attempt has found no way to the server, and the task waits for one (S-26).
        case cutOff
        /// There may be a way again.
        case reconnected
        /// There is a whole answer: the attempt has ended with it, or a decision has let one
        /// through that was held.
        case answered
        /// The attempt, or a timer, has failed the task.
        case failed(TransferError)
        /// The content is where it belongs.
        case contentKept
        /// Another task has taken the attempt over (S-70).
        case handedOver
        /// The task is over for a reason that lies outside of it: suspended or not, it ends.
        case interrupted(TransferError)
        /// The same, of a task with a content that is worth keeping a part of.
        case interruptedWithPart(TransferError)
        /// The part is in safety, or cannot be; the error tells of it.
        case partKept(TransferError)
        /// The process is about to end: nothing is to move any more.
        case settle
        /// The process ends.
        case abandon
    }

    /// What the runner must do, in this order.
    public enum Order: Equatable, Sendable {
        case waitForBeginDate, stopWaitingForBeginDate
        case askForBody
        case waitForRetry, stopWaitingForRetry
        case waitForConnectivity, stopWaitingForConnectivity
        case enterQueue, leaveQueue
        case startAttempt, holdAttempt, releaseAttempt
        /// Ends the attempt that is on the wire.
        case stopAttempt
        /// Gives the host's slot to the next task.
        case freeSlot
        case keepContent, dropContent
        /// Brings the part of a task that ends to safety.
        case keepPart(TransferError)
        /// Stops whatever moves, without an end.
        case standStill
        /// Lets go of everything, without an end.
        case letGo
        /// The record shows a new state.
        case save
        /// What has failed while the task was suspended fails it now.
        case fail(TransferError)
        /// The last order of a task.
        case complete(TransferError?)
        /// The last order of a task that goes on as another one.
        case retire
    }

    /// Moved by `handle(_:)` alone.
    public private(set) var phase: Phase

    /// Calls of `suspend` that wait for their `resume`; a task is created suspended (S-30), so it
    /// begins with one.
    public private(set) var suspendCount: Int
    /// Whether a decision stands between the task and its next attempt. Set it before the input
    /// that leads there, and take it back before `decided`.
    public var asksForDecision: Bool
    /// Whether the client is asked for a body before the next attempt. Set it before the input that
    /// leads there.
    public var asksForBody: Bool
    /// A machine that goes on from a stored state.
    public init(
        phase: Phase = .suspended(nil), suspendCount: Int? = nil, asksForBody: Bool = false,
        asksForDecision: Bool = false
    ) {
        self.phase = phase
        self.asksForDecision = asksForDecision
        self.suspendCount = suspendCount ?? (phase.isSuspended ? 1 : 0)
        self.asksForBody = asksForBody
    }

    /// S-31 as clients see it.
    public var state: TaskState {
        switch phase {
        case .completed: .completed
        case .ending(let error) where error.isCancellation: .canceling
        default: isSuspended ? .suspended : .running
        }
    }

    /// Whether nothing moves until `resume` (S-77).
    public var isSuspended: Bool { suspendCount > 0 && phase != .completed }

    /// Whether an exchange has begun whose end is not known: what an interruption ends (S-56).
    public var hasLiveAttempt: Bool {
        switch phase {
        case .attempting, .held, .finishing, .ending: true
        case .suspended(let outcome): outcome != nil
        case .waitingForBeginDate, .waitingForDecision, .waitingForBody,
            .waitingForSlot, .waitingForRetry, .waitingForConnectivity, .settled, .abandoned,
            .completed:
            false
        }
    }

    /// Whether the task has ended, or is no longer this process's.
    public var isOver: Bool { phase == .completed || phase == .abandoned }

    /// Whether there is a whole answer whose content is being put in its place.
    public var isFinishing: Bool { if case .finishing = phase { true } else { false } }

    /// Whether an exchange may go on, or another one follow: the content is not whole, and the task
    /// not on its way out.
    public var isUnderWay: Bool {
        switch phase {
        case .finishing, .ending, .settled, .abandoned, .completed: false
        default: true
        }
    }

    /// Nil in every phase but those that wait for one of these.
    public var waitReason: WaitReason? {
        switch phase {
        case .waitingForBeginDate: .beginDate
        case .waitingForDecision: .decision
        case .waitingForBody: .bodyStream
        case .waitingForSlot: .slot
        case .waitingForConnectivity: .connectivity
        case .waitingForRetry: .retry
        default: nil
        }
    }

    /// Moves to the next phase.
    ///
    /// - Parameter input: what has happened since the last call.
    /// - Returns: what the runner must do now, in this order; nothing where the phase already says
    ///   all there is to say.
    public mutating func handle(_ input: Input) -> [Order] {
        switch phase {
        case .ending, .settled, .abandoned, .completed: return leave(by: input)
        default: break
        }
        switch input {
        case .suspend: return suspend()
        case .resume(let beginsLater): return resume(beginsLater: beginsLater)
        case .answered where isSuspended: return postpone(.answered)
        case .contentKept where isSuspended: return postpone(.contentKept)
        case .failed(let error) where isSuspended: return postpone(.failed(error))
        default: break
        }
        switch (phase, input) {
        case (.waitingForBeginDate, .beginDateReached), (.waitingForRetry, .retryDue),
            (.waitingForDecision, .decided), (.waitingForConnectivity, .reconnected):
            return prepare()
        case (.waitingForBody, .bodyGiven):
            return go(to: .waitingForSlot, .enterQueue)
        case (.waitingForSlot, .slotGranted):
            return go(to: .attempting, .startAttempt)

        case (.attempting, .again):
            return [.freeSlot] + prepare()
        case (.attempting, .retry):
            return go(to: .waitingForRetry, .freeSlot, .save, .waitForRetry)
        case (.attempting, .cutOff):
            return go(to: .waitingForConnectivity, .freeSlot, .save, .waitForConnectivity)
        case (.held, .again), (.held, .retry), (.held, .cutOff):
            return go(to: .suspended(nil), .freeSlot, .save)
        case (.held, .detach):
            return go(to: .suspended(nil), .stopAttempt, .freeSlot, .save)
        case (.attempting, .answered):
            return go(to: .finishing(nil), .freeSlot, .keepContent)
        case (.waitingForDecision, .answered):
            return go(to: .finishing(nil), .keepContent)
        case (.attempting, .handedOver), (.held, .handedOver), (.waitingForDecision, .handedOver),
            (.suspended, .handedOver):
            return go(to: .completed, .retire)
        case (.finishing, .contentKept):
            return go(to: .completed, .complete(nil))
        case (.finishing, .retry):  // the content could not be brought to safety
            return isSuspended
                ? go(to: .suspended(nil), .save) : go(to: .waitingForRetry, .save, .waitForRetry)
        case (.finishing, .again):  // the content was not the right one
            return isSuspended ? go(to: .suspended(nil), .save) : prepare()

        case (_, .cancel): return end(with: .cancelled)
        case (_, .failed(let error)), (_, .interrupted(let error)):
            return end(with: error)
        case (_, .interruptedWithPart(let error)):
            let orders = ordersToStop()
            phase = .ending(error)
            // One who cancels waits for the end, over a restart too.
            return orders + (error.isCancellation ? [.save] : []) + [.keepPart(error)]
        case (.finishing, .settle): return []  // it may come to its end by itself
        case (_, .settle): return go(to: .settled, .standStill)
        case (_, .abandon): return go(to: .abandoned, .letGo)

        default:
            return []  // late or repeated: the phase already says all there is to say
        }
    }

    /// The task is on its way out.
    private mutating func leave(by input: Input) -> [Order] {
        switch (phase, input) {
        case (.ending, .partKept(let error)):
            return go(to: .completed, .dropContent, .complete(error))
        case (.ending, .abandon), (.settled, .abandon): return go(to: .abandoned, .letGo)
        default: return []
        }
    }

    /// Calls nest: only the first one stops anything, and as many calls of `resume` undo them.
    private mutating func suspend() -> [Order] {
        suspendCount = min(suspendCount + 1, TaskMachine.suspendLimit)
        guard suspendCount == 1 else { return [.save] }
        switch phase {
        case .waitingForBeginDate: return go(to: .suspended(nil), .stopWaitingForBeginDate, .save)
        case .waitingForDecision, .waitingForBody: return go(to: .suspended(nil), .save)
        case .waitingForSlot: return go(to: .suspended(nil), .leaveQueue, .save)
        case .waitingForRetry: return go(to: .suspended(nil), .stopWaitingForRetry, .save)
        case .waitingForConnectivity:
            return go(to: .suspended(nil), .stopWaitingForConnectivity, .save)
        case .attempting: return go(to: .held, .holdAttempt, .save)
        case .finishing: return [.save]
        case .suspended, .held, .ending, .settled, .abandoned, .completed: return []
        }
    }

    /// The task is suspended, and this would end it, or bring it to its end.
    private mutating func postpone(_ outcome: Outcome) -> [Order] {
        switch (phase, outcome) {
        case (.held, .failed):
            return go(to: .suspended(outcome), .stopAttempt, .freeSlot, .save)
        case (.held, .answered):
            return go(to: .suspended(outcome), .freeSlot, .save)
        case (.suspended(.failed), _), (.finishing(.failed), _):
            return []  // the first failure is the reason
        case (.suspended, .failed), (.suspended, .answered):
            return go(to: .suspended(outcome), .save)
        case (.finishing, .failed), (.finishing, .contentKept):
            return go(to: .finishing(outcome), .save)
        default: return []
        }
    }

    private mutating func resume(beginsLater: Bool) -> [Order] {
        guard suspendCount > 0 else { return [] }
        suspendCount -= 1
        guard suspendCount == 0 else { return [.save] }
        switch phase {
        case .suspended(.failed(let error)): return go(to: .suspended(nil), .save, .fail(error))
        case .finishing(.failed(let error)): return go(to: .finishing(nil), .save, .fail(error))
        case .finishing(.contentKept): return go(to: .completed, .complete(nil))
        case .suspended(.answered): return go(to: .finishing(nil), .save, .keepContent)
        case .finishing: return [.save]
        case .held: return go(to: .attempting, .save, .releaseAttempt)
        case .suspended where beginsLater:
            return go(to: .waitingForBeginDate, .save, .waitForBeginDate)
        case .suspended: return prepare()
        default: return []
        }
    }

    /// What comes before an attempt.
    private mutating func prepare() -> [Order] {
        if asksForDecision { return go(to: .waitingForDecision, .save) }
        return asksForBody
            ? go(to: .waitingForBody, .save, .askForBody)
            : go(to: .waitingForSlot, .save, .enterQueue)
    }

    private mutating func end(with error: TransferError) -> [Order] {
        let orders = ordersToStop()
        phase = .completed
        return orders + [.dropContent, .complete(error)]
    }

    /// What stops that which the phase has going.
    private func ordersToStop() -> [Order] {
        switch phase {
        case .suspended, .waitingForDecision, .waitingForBody, .finishing, .ending, .settled,
            .abandoned, .completed:
            []
        case .waitingForBeginDate: [.stopWaitingForBeginDate]
        case .waitingForSlot: [.leaveQueue]
        case .waitingForRetry: [.stopWaitingForRetry]
        case .waitingForConnectivity: [.stopWaitingForConnectivity]
        case .attempting, .held: [.stopAttempt, .freeSlot]
        }
    }

    private mutating func go(to next: Phase, _ orders: Order...) -> [Order] {
        phase = next
        return orders
    }

    private static let suspendLimit = 1_000_000
}

extension TaskMachine.Phase {
    /// Whether a task without an attempt, or with one that is held, does not move.
    fileprivate var isSuspended: Bool {
        switch self {
        case .suspended, .held: true
        default: false
        }
    }
}
