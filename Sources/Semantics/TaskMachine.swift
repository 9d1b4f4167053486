/// The life of one task as a value: an input goes in, orders come out, nothing is performed here.
///
/// A task is a series of attempts, one exchange with one server each. What arrives instead of a
/// useful answer ends the attempt; what follows from it starts the next one (S-29…S-33, S-68). A
/// suspended task does not move: what comes for it meanwhile counts when it is resumed (S-77).
public struct TaskMachine: Equatable, Sendable {
    /// Where the task is.
    public enum Phase: Equatable, Sendable {
        /// Not resumed, or suspended without an attempt.
        case suspended
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
        /// The answer is whole; its content is being put in its place.
        case finishing
        /// The end: nothing leaves it (S-31).
        case completed
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
    /// What would have moved the task on while it was suspended (S-77).
    private var postponed: Input?

    /// A machine that goes on from a stored state.
    public init(
        phase: Phase = .suspended, suspendCount: Int? = nil, asksForBody: Bool = false,
        asksForDecision: Bool = false
    ) {
        self.phase = phase
        self.asksForDecision = asksForDecision
        self.suspendCount = suspendCount ?? (phase == .suspended || phase == .held ? 1 : 0)
        self.asksForBody = asksForBody
    }

    /// S-31 as clients see it.
    public var state: TaskState {
        phase == .completed ? .completed : isSuspended ? .suspended : .running
    }

    /// Whether nothing moves until `resume` (S-77).
    public var isSuspended: Bool { suspendCount > 0 && phase != .completed }

    /// Whether an exchange has begun whose end is not known: what an interruption ends (S-56).
    public var hasLiveAttempt: Bool {
        switch phase {
        case .attempting, .held, .finishing: true
        case .suspended: postponed != nil
        case .waitingForBeginDate, .waitingForDecision, .waitingForBody,
            .waitingForSlot, .waitingForRetry, .waitingForConnectivity, .completed:
            false
        }
    }

    /// Nil in every phase but those that wait for one of these; also between an attempt and its
    /// repetition.
    public var waitReason: WaitReason? {
        switch phase {
        case .waitingForBeginDate: .beginDate
        case .waitingForDecision: .decision
        case .waitingForBody: .bodyStream
        case .waitingForSlot: .slot
        case .waitingForConnectivity: .connectivity
        default: nil
        }
    }

    /// Moves to the next phase.
    ///
    /// - Parameter input: what has happened since the last call.
    /// - Returns: what the runner must do now, in this order; nothing where the phase already says
    ///   all there is to say.
    public mutating func handle(_ input: Input) -> [Order] {
        switch input {
        case .suspend: return suspend()
        case .resume(let beginsLater): return resume(beginsLater: beginsLater)
        case .answered, .contentKept, .failed:
            if isSuspended { return postpone(input) }
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
            return go(to: .suspended, .freeSlot, .save)
        case (.held, .detach):
            return go(to: .suspended, .stopAttempt, .freeSlot, .save)
        case (.attempting, .answered):
            return go(to: .finishing, .freeSlot, .keepContent)
        case (.waitingForDecision, .answered):
            return go(to: .finishing, .keepContent)
        case (.attempting, .handedOver), (.held, .handedOver), (.waitingForDecision, .handedOver),
            (.suspended, .handedOver):
            return go(to: .completed, .retire)
        case (.finishing, .contentKept):
            return go(to: .completed, .complete(nil))
        case (.finishing, .retry):  // the content could not be brought to safety
            return isSuspended
                ? go(to: .suspended, .save) : go(to: .waitingForRetry, .save, .waitForRetry)
        case (.finishing, .again):  // the content was not the right one
            return isSuspended ? go(to: .suspended, .save) : prepare()

        case (_, .cancel) where phase != .completed:
            return end(with: .cancelled)
        case (_, .failed(let error)) where phase != .completed,
            (_, .interrupted(let error)) where phase != .completed:
            return end(with: error)

        default:
            return []  // late or repeated: the phase already says all there is to say
        }
    }

    /// Calls nest: only the first one stops anything, and as many calls of `resume` undo them.
    private mutating func suspend() -> [Order] {
        guard phase != .completed else { return [] }
        suspendCount = min(suspendCount + 1, TaskMachine.suspendLimit)
        guard suspendCount == 1 else { return [.save] }
        switch phase {
        case .waitingForBeginDate: return go(to: .suspended, .stopWaitingForBeginDate, .save)
        case .waitingForDecision, .waitingForBody: return go(to: .suspended, .save)
        case .waitingForSlot: return go(to: .suspended, .leaveQueue, .save)
        case .waitingForRetry: return go(to: .suspended, .stopWaitingForRetry, .save)
        case .waitingForConnectivity:
            return go(to: .suspended, .stopWaitingForConnectivity, .save)
        case .attempting: return go(to: .held, .holdAttempt, .save)
        case .finishing: return [.save]
        case .suspended, .held, .completed: return []
        }
    }

    /// The task is suspended, and this would end it, or bring it to its end.
    private mutating func postpone(_ input: Input) -> [Order] {
        switch (phase, input) {
        case (.held, .failed):
            postponed = input
            return go(to: .suspended, .stopAttempt, .freeSlot, .save)
        case (.held, .answered):
            postponed = input
            return go(to: .suspended, .freeSlot, .save)
        case (.suspended, .failed), (.suspended, .answered), (.finishing, .failed),
            (.finishing, .contentKept):
            if case .failed = postponed { return [] }  // the first failure is the reason
            postponed = input
            return [.save]
        default: return []
        }
    }

    private mutating func resume(beginsLater: Bool) -> [Order] {
        guard suspendCount > 0, phase != .completed else { return [] }
        suspendCount -= 1
        guard suspendCount == 0 else { return [.save] }
        let late = postponed
        postponed = nil
        switch (phase, late) {
        case (_, .failed(let error)): return [.save, .fail(error)]
        case (.finishing, .contentKept): return go(to: .completed, .complete(nil))
        case (.suspended, .answered): return go(to: .finishing, .save, .keepContent)
        default: break
        }
        switch phase {
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
        let orders: [Order]
        switch phase {
        case .suspended, .waitingForDecision, .waitingForBody, .completed, .finishing:
            orders = []
        case .waitingForBeginDate: orders = [.stopWaitingForBeginDate]
        case .waitingForSlot: orders = [.leaveQueue]
        case .waitingForRetry: orders = [.stopWaitingForRetry]
        case .waitingForConnectivity: orders = [.stopWaitingForConnectivity]
        case .attempting, .held: orders = [.stopAttempt, .freeSlot]
        }
        phase = .completed
        return orders + [.dropContent, .complete(error)]
    }

    private mutating func go(to next: Phase, _ orders: Order...) -> [Order] {
        phase = next
        return orders
    }

    private static let suspendLimit = 1_000_000
}
