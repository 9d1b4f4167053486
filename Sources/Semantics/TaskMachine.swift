/// The life of one task as a value: an input goes in, orders come out, nothing is performed here.
///
/// A task is a series of attempts, one exchange with one server each. What arrives instead of a
/// useful answer ends the attempt; what follows from it starts the next one (S-29…S-33, S-68).
public struct TaskMachine: Equatable, Sendable {
    /// Where the task is.
    public enum Phase: Equatable, Sendable {
        /// Not resumed, or suspended without an attempt.
        case suspended
        /// Resumed, before its `earliestBeginDate` (S-44).
        case waitingForBeginDate
        /// Resumed, behind other transfers to its host (S-19, S-43).
        case waitingForSlot
        /// An attempt is on the wire.
        case attempting
        /// Suspended while an attempt is on the wire: the connection is kept (S-32).
        case held
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
        case slotGranted
        /// The connection was kept long enough for a suspended task, which can go on with another
        /// one (S-32).
        case detach
        /// The attempt was answered by a redirect that is followed.
        case redirected
        /// The attempt has ended with a whole answer.
        case answered
        /// The attempt, or a timer, has ended the task.
        case failed(TransferError)
        /// The content is where it belongs.
        case contentKept
    }

    /// What the runner must do, in this order.
    public enum Order: Equatable, Sendable {
        case waitForBeginDate, stopWaitingForBeginDate
        case enterQueue, leaveQueue
        case startAttempt, holdAttempt, releaseAttempt
        /// Ends the attempt that is on the wire.
        case stopAttempt
        /// Gives the host's slot to the next task.
        case freeSlot
        case keepContent, dropContent
        /// The record shows a new state.
        case save
        /// The last order of a task.
        case complete(TransferError?)
    }

    /// Moved by `handle(_:)` alone.
    public private(set) var phase: Phase

    /// A machine that goes on from a stored state.
    public init(phase: Phase = .suspended) { self.phase = phase }

    /// S-31 as clients see it.
    public var state: TaskState {
        switch phase {
        case .suspended, .held: .suspended
        case .waitingForBeginDate, .waitingForSlot, .attempting, .finishing: .running
        case .completed: .completed
        }
    }

    /// Whether an exchange has begun whose end is not known: what an interruption ends (S-56).
    public var hasLiveAttempt: Bool {
        switch phase {
        case .attempting, .held, .finishing: true
        case .suspended, .waitingForBeginDate, .waitingForSlot, .completed: false
        }
    }

    /// Nil in every phase but the two that wait.
    public var waitReason: WaitReason? {
        switch phase {
        case .waitingForBeginDate: .beginDate
        case .waitingForSlot: .slot
        default: nil
        }
    }

    /// Moves to the next phase.
    ///
    /// - Parameter input: what has happened since the last call.
    /// - Returns: what the runner must do now, in this order; nothing where the phase already says
    ///   all there is to say.
    public mutating func handle(_ input: Input) -> [Order] {
        switch (phase, input) {
        case (.suspended, .resume(let beginsLater)):
            return beginsLater
                ? go(to: .waitingForBeginDate, .save, .waitForBeginDate)
                : go(to: .waitingForSlot, .save, .enterQueue)
        case (.held, .resume):
            return go(to: .attempting, .save, .releaseAttempt)

        case (.waitingForBeginDate, .beginDateReached):
            return go(to: .waitingForSlot, .enterQueue)
        case (.waitingForSlot, .slotGranted):
            return go(to: .attempting, .startAttempt)

        case (.waitingForBeginDate, .suspend):
            return go(to: .suspended, .stopWaitingForBeginDate, .save)
        case (.waitingForSlot, .suspend):
            return go(to: .suspended, .leaveQueue, .save)
        case (.attempting, .suspend):
            return go(to: .held, .holdAttempt, .save)

        case (.attempting, .redirected):
            return go(to: .waitingForSlot, .freeSlot, .save, .enterQueue)
        case (.held, .detach):
            return go(to: .suspended, .stopAttempt, .freeSlot, .save)
        case (.held, .redirected):
            return go(to: .suspended, .freeSlot, .save)
        case (.attempting, .answered), (.held, .answered):
            return go(to: .finishing, .freeSlot, .keepContent)
        case (.finishing, .contentKept):
            return go(to: .completed, .complete(nil))

        case (_, .cancel) where phase != .completed:
            return end(with: .cancelled)
        case (_, .failed(let error)) where phase != .completed:
            return end(with: error)

        default:
            return []  // late or repeated: the phase already says all there is to say
        }
    }

    private mutating func end(with error: TransferError) -> [Order] {
        let orders: [Order]
        switch phase {
        case .suspended, .completed: orders = []
        case .waitingForBeginDate: orders = [.stopWaitingForBeginDate]
        case .waitingForSlot: orders = [.leaveQueue]
        case .attempting, .held: orders = [.stopAttempt, .freeSlot]
        case .finishing: orders = []
        }
        phase = .completed
        return orders + [.dropContent, .complete(error)]
    }

    private mutating func go(to next: Phase, _ orders: Order...) -> [Order] {
        phase = next
        return orders
    }
}
