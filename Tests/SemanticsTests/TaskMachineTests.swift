import Semantics
import Testing

/// The life of a task as a table: what every input leads to in every phase.
struct TaskMachineTests {
    typealias Phase = TaskMachine.Phase
    typealias Input = TaskMachine.Input
    typealias Order = TaskMachine.Order

    /// One line of the table; a pair that is not in it changes nothing.
    struct Step: Sendable {
        let phase: Phase
        let input: Input
        let next: Phase
        let orders: [Order]

        init(_ phase: Phase, _ input: Input, _ next: Phase, _ orders: [Order]) {
            self.phase = phase
            self.input = input
            self.next = next
            self.orders = orders
        }
    }

    static let error = TransferError.url(.networkConnectionLost)

    static let table = moves + moves.filter { $0.input == .cancel }.flatMap(endings) + stops

    /// `interrupted` ends a task wherever `cancel` does; where a part is kept, that comes first.
    private static func endings(_ cancel: Step) -> [Step] {
        let stop = cancel.orders.dropLast(2)
        let end = stop + [.dropContent, .complete(error)]
        return [
            Step(cancel.phase, .interrupted(error), .completed, Array(end)),
            Step(
                cancel.phase, .interruptedWithPart(error), .ending(error),
                stop + [.keepPart(error)]),
        ]
    }

    /// The end of the process finds a task in any phase; one that is at its end needs nothing.
    private static let stops: [Step] = phases.flatMap { phase -> [Step] in
        let abandon = Step(phase, .abandon, .abandoned, [.letGo])
        switch phase {
        case .completed, .abandoned: return []
        case .finishing, .ending, .settled: return [abandon]
        default: return [abandon, Step(phase, .settle, .settled, [.standStill])]
        }
    }

    private static let moves: [Step] = [
        Step(.suspended(nil), .resume(beginsLater: false), .waitingForSlot, [.save, .enterQueue]),
        Step(
            .suspended(nil), .resume(beginsLater: true), .waitingForBeginDate,
            [.save, .waitForBeginDate]),
        Step(.suspended(nil), .cancel, .completed, [.dropContent, .complete(.cancelled)]),
        // S-77
        Step(.suspended(nil), .failed(error), .suspended(.failed(error)), [.save]),
        Step(.suspended(nil), .answered, .suspended(.answered), [.save]),
        Step(.suspended(nil), .handedOver, .completed, [.retire]),
        Step(.suspended(nil), .suspend, .suspended(nil), [.save]),
        Step(.held, .suspend, .held, [.save]),

        Step(.waitingForBeginDate, .beginDateReached, .waitingForSlot, [.save, .enterQueue]),
        Step(.waitingForBeginDate, .suspend, .suspended(nil), [.stopWaitingForBeginDate, .save]),
        Step(
            .waitingForBeginDate, .cancel, .completed,
            [.stopWaitingForBeginDate, .dropContent, .complete(.cancelled)]),
        Step(
            .waitingForBeginDate, .failed(error), .completed,
            [.stopWaitingForBeginDate, .dropContent, .complete(error)]),

        Step(.waitingForDecision, .decided, .waitingForSlot, [.save, .enterQueue]),
        Step(.waitingForDecision, .answered, .finishing(nil), [.keepContent]),
        Step(.waitingForDecision, .handedOver, .completed, [.retire]),
        Step(.waitingForDecision, .suspend, .suspended(nil), [.save]),
        Step(.waitingForDecision, .cancel, .completed, [.dropContent, .complete(.cancelled)]),
        Step(.waitingForDecision, .failed(error), .completed, [.dropContent, .complete(error)]),

        Step(.waitingForBody, .bodyGiven, .waitingForSlot, [.enterQueue]),
        Step(.waitingForBody, .suspend, .suspended(nil), [.save]),
        Step(
            .waitingForBody, .cancel, .completed,
            [.dropContent, .complete(.cancelled)]),
        Step(
            .waitingForBody, .failed(error), .completed,
            [.dropContent, .complete(error)]),

        Step(.waitingForRetry, .retryDue, .waitingForSlot, [.save, .enterQueue]),
        Step(.waitingForRetry, .suspend, .suspended(nil), [.stopWaitingForRetry, .save]),
        Step(
            .waitingForRetry, .cancel, .completed,
            [.stopWaitingForRetry, .dropContent, .complete(.cancelled)]),
        Step(
            .waitingForRetry, .failed(error), .completed,
            [.stopWaitingForRetry, .dropContent, .complete(error)]),

        Step(.waitingForConnectivity, .reconnected, .waitingForSlot, [.save, .enterQueue]),
        Step(
            .waitingForConnectivity, .suspend, .suspended(nil),
            [.stopWaitingForConnectivity, .save]),
        Step(
            .waitingForConnectivity, .cancel, .completed,
            [.stopWaitingForConnectivity, .dropContent, .complete(.cancelled)]),
        Step(
            .waitingForConnectivity, .failed(error), .completed,
            [.stopWaitingForConnectivity, .dropContent, .complete(error)]),

        Step(.waitingForSlot, .slotGranted, .attempting, [.startAttempt]),
        Step(.waitingForSlot, .suspend, .suspended(nil), [.leaveQueue, .save]),
        Step(
            .waitingForSlot, .cancel, .completed,
            [.leaveQueue, .dropContent, .complete(.cancelled)]),
        Step(
            .waitingForSlot, .failed(error), .completed,
            [.leaveQueue, .dropContent, .complete(error)]),

        Step(.attempting, .suspend, .held, [.holdAttempt, .save]),
        Step(.attempting, .again, .waitingForSlot, [.freeSlot, .save, .enterQueue]),
        Step(.attempting, .retry, .waitingForRetry, [.freeSlot, .save, .waitForRetry]),
        Step(
            .attempting, .cutOff, .waitingForConnectivity,
            [.freeSlot, .save, .waitForConnectivity]),
        Step(.attempting, .answered, .finishing(nil), [.freeSlot, .keepContent]),
        Step(.attempting, .handedOver, .completed, [.retire]),
        Step(
            .attempting, .cancel, .completed,
            [.stopAttempt, .freeSlot, .dropContent, .complete(.cancelled)]),
        Step(
            .attempting, .failed(error), .completed,
            [.stopAttempt, .freeSlot, .dropContent, .complete(error)]),

        Step(.held, .resume(beginsLater: false), .attempting, [.save, .releaseAttempt]),
        Step(.held, .resume(beginsLater: true), .attempting, [.save, .releaseAttempt]),
        Step(.held, .again, .suspended(nil), [.freeSlot, .save]),
        Step(.held, .retry, .suspended(nil), [.freeSlot, .save]),
        Step(.held, .cutOff, .suspended(nil), [.freeSlot, .save]),
        Step(.held, .detach, .suspended(nil), [.stopAttempt, .freeSlot, .save]),
        Step(.held, .answered, .suspended(.answered), [.freeSlot, .save]),
        Step(.held, .handedOver, .completed, [.retire]),
        Step(
            .held, .cancel, .completed,
            [.stopAttempt, .freeSlot, .dropContent, .complete(.cancelled)]),
        Step(
            .held, .failed(error), .suspended(.failed(error)), [.stopAttempt, .freeSlot, .save]),

        Step(.finishing(nil), .suspend, .finishing(nil), [.save]),
        Step(.finishing(nil), .contentKept, .completed, [.complete(nil)]),
        Step(.finishing(nil), .again, .waitingForSlot, [.save, .enterQueue]),
        Step(.finishing(nil), .retry, .waitingForRetry, [.save, .waitForRetry]),
        Step(.finishing(nil), .cancel, .completed, [.dropContent, .complete(.cancelled)]),
        Step(.finishing(nil), .failed(error), .completed, [.dropContent, .complete(error)]),

        Step(.ending(error), .partKept(error), .completed, [.dropContent, .complete(error)]),
    ]

    static let phases = everyValue(from: Phase.suspended(nil), \.next)
    static let inputs = everyValue(from: Input.resume(beginsLater: false), \.next)

    private static func everyValue<Value>(
        from first: Value, _ next: @escaping (Value) -> Value?
    ) -> [Value] {
        Array(sequence(first: first, next: next))
    }

    @Test(arguments: phases, inputs)
    func `every input in every phase gives the orders of the table, or none (S-29 to S-33)`(
        phase: Phase, input: Input
    ) {
        var machine = TaskMachine(phase: phase)
        let step = Self.table.first { $0.phase == phase && $0.input == input }
        #expect(machine.handle(input) == step?.orders ?? [])
        #expect(machine.phase == step?.next ?? phase)
    }

    @Test(arguments: [
        (Phase.suspended(nil), TaskState.suspended, WaitReason?.none, false),
        (.suspended(.answered), .suspended, nil, true),
        (.waitingForBeginDate, .running, .beginDate, false),
        (.waitingForDecision, .running, .decision, false),
        (.waitingForBody, .running, .bodyStream, false),
        (.waitingForSlot, .running, .slot, false),
        (.waitingForRetry, .running, .retry, false),
        (.attempting, .running, nil, true),
        (.held, .suspended, nil, true),
        (.waitingForConnectivity, .running, .connectivity, false),
        (.finishing(nil), .running, nil, true),
        (.ending(error), .running, nil, true),
        (.ending(.cancelled), .canceling, nil, true),
        (.settled, .running, nil, false),
        (.abandoned, .running, nil, false),
        (.completed, .completed, nil, false),
    ])
    func `a phase shows as a state, a reason to wait, and what an interruption ends (S-31, S-56)`(
        phase: Phase, state: TaskState, reason: WaitReason?, isLive: Bool
    ) {
        let machine = TaskMachine(phase: phase)
        #expect(machine.state == state)
        #expect(machine.waitReason == reason)
        #expect(machine.hasLiveAttempt == isLive)
    }

    /// What an order takes, and what gives it back.
    @Test(arguments: 0..<200)
    func `whatever comes, in whatever order, every slot, wait and attempt is given back once`(
        seed: UInt64
    ) {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        var machine = TaskMachine(
            asksForBody: seed.isMultiple(of: 2), asksForDecision: seed.isMultiple(of: 3))
        var (hasSlot, isQueued, waitsForDate, isAttempting, ends) = (false, false, false, false, 0)
        var waitsForRetry = false
        for step in 0..<60 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            var input = Self.inputs[Int(random >> 33) % Self.inputs.count]
            if step == 59 { input = .cancel }
            if case .ending = machine.phase, step == 59 { input = .partKept(Self.error) }
            // These come only from what is going on.
            switch input {
            case .slotGranted where !isQueued, .beginDateReached where !waitsForDate: continue
            case .again where !isAttempting, .retry where !isAttempting: continue
            case .answered where !isAttempting && machine.phase != .waitingForDecision: continue
            case .handedOver where step < 30 || !isAttempting: continue
            case .bodyGiven where machine.phase != .waitingForBody: continue
            case .retryDue where !waitsForRetry, .cutOff where !isAttempting: continue
            case .reconnected where machine.phase != .waitingForConnectivity: continue
            case .settle, .abandon: continue  // no end of the task
            case .decided: machine.asksForDecision = step.isMultiple(of: 4)
            // Slot and attempt are another task's now.
            case .handedOver: (hasSlot, isAttempting) = (false, false)
            case .slotGranted: (hasSlot, isQueued) = (true, false)
            case .beginDateReached: waitsForDate = false
            case .retryDue: waitsForRetry = false
            case .again, .retry, .cutOff, .answered: isAttempting = false
            default: break
            }
            var orders = machine.handle(input)
            if case .fail(let error)? = orders.last {
                orders = orders.dropLast() + machine.handle(.interrupted(error))
            }
            for order in orders {
                #expect(ends == 0, "\(order) after the end")
                switch order {
                case .enterQueue:
                    #expect(!isQueued && !hasSlot)
                    isQueued = true
                case .leaveQueue:
                    #expect(isQueued)
                    isQueued = false
                case .waitForBeginDate:
                    #expect(!waitsForDate)
                    waitsForDate = true
                case .stopWaitingForBeginDate:
                    #expect(waitsForDate)
                    waitsForDate = false
                case .waitForRetry:
                    #expect(!waitsForRetry)
                    waitsForRetry = true
                case .stopWaitingForRetry:
                    #expect(waitsForRetry)
                    waitsForRetry = false
                case .startAttempt:
                    #expect(hasSlot && !isAttempting)
                    isAttempting = true
                case .stopAttempt:
                    #expect(isAttempting)
                    isAttempting = false
                case .freeSlot:
                    #expect(hasSlot && !isAttempting)
                    hasSlot = false
                case .complete, .retire:
                    #expect(!hasSlot && !isQueued && !waitsForDate && !isAttempting)
                    #expect(!waitsForRetry)
                    ends += 1
                default: break
                }
            }
        }
        #expect(ends == 1 && machine.phase == .completed)
    }

    @Test
    func `one who cancels waits for the part to be kept, over a restart too (S-34)`() {
        var machine = TaskMachine(phase: .attempting)
        #expect(
            machine.handle(.interruptedWithPart(.cancelled))
                == [.stopAttempt, .freeSlot, .save, .keepPart(.cancelled)])
        #expect(machine.handle(.cancel) == [] && machine.handle(.suspend) == [])
        #expect(
            machine.handle(.partKept(.cancelled)) == [.dropContent, .complete(.cancelled)])
    }

    @Test
    func `calls of suspend nest: as many calls of resume undo them, and no more (S-31)`() {
        var machine = TaskMachine()
        #expect(machine.handle(.suspend) == [.save] && machine.suspendCount == 2)
        #expect(machine.handle(.resume(beginsLater: false)) == [.save])
        #expect(machine.phase == .suspended(nil) && machine.suspendCount == 1)
        #expect(machine.handle(.resume(beginsLater: false)) == [.save, .enterQueue])
        // A call too many is not put by for a later suspend.
        #expect(machine.handle(.resume(beginsLater: false)) == [])
        #expect(machine.handle(.suspend) == [.leaveQueue, .save] && machine.suspendCount == 1)
    }

    @Test(
        arguments: [
            (.answered, [.save, .keepContent], .finishing(nil)),
            (.failed(error), [.save, .fail(error)], .suspended(nil)),
        ] as [(Input, [Order], Phase)])
    func `what comes for a suspended task counts when it is resumed (S-77)`(
        input: Input, orders: [Order], next: Phase
    ) {
        for phase in [Phase.suspended(nil), .held] {
            var machine = TaskMachine(phase: phase, suspendCount: 2)
            _ = machine.handle(input)
            // S-56: a crash would lose it.
            #expect(machine.state == .suspended && machine.hasLiveAttempt)
            let waiting = machine.phase
            #expect(machine.handle(.resume(beginsLater: false)) == [.save])
            #expect(machine.phase == waiting)
            #expect(machine.handle(.resume(beginsLater: true)) == orders)
            #expect(machine.phase == next && !machine.isSuspended)
        }
    }

    @Test
    func `a task can be suspended while its content is put in its place (S-77)`() {
        var machine = TaskMachine(phase: .finishing(nil))
        _ = machine.handle(.suspend)
        #expect(machine.state == .suspended && machine.hasLiveAttempt)
        #expect(machine.handle(.contentKept) == [.save])
        #expect(machine.state == .suspended)
        #expect(machine.handle(.resume(beginsLater: false)) == [.complete(nil)])

        var failing = TaskMachine(phase: .finishing(nil), suspendCount: 1)
        _ = failing.handle(.failed(Self.error))
        #expect(failing.handle(.contentKept) == [])  // the first failure is the reason
        #expect(
            failing.handle(.resume(beginsLater: false)) == [.save, .fail(Self.error)])
    }

    @Test
    func `a decision stands before the body and the slot, also over a suspension (S-56)`() {
        var machine = TaskMachine(asksForBody: true, asksForDecision: true)
        #expect(machine.handle(.resume(beginsLater: false)) == [.save])
        #expect(machine.phase == .waitingForDecision)
        #expect(machine.handle(.suspend) == [.save])
        machine.asksForDecision = false  // it was made meanwhile
        #expect(machine.handle(.decided) == [] && machine.phase == .suspended(nil))
        #expect(machine.handle(.resume(beginsLater: false)) == [.save, .askForBody])
    }

    @Test
    func `a streamed body is asked for before every attempt, and before a slot is taken (S-39)`() {
        var machine = TaskMachine(asksForBody: true)
        #expect(machine.handle(.resume(beginsLater: false)) == [.save, .askForBody])
        #expect(machine.handle(.bodyGiven) == [.enterQueue])
        #expect(machine.handle(.slotGranted) == [.startAttempt])
        #expect(machine.handle(.again) == [.freeSlot, .save, .askForBody])
        _ = machine.handle(.bodyGiven)
        _ = machine.handle(.slotGranted)
        machine.asksForBody = false  // a 303 has made it a GET
        #expect(machine.handle(.again) == [.freeSlot, .save, .enterQueue])
    }
}

// One value of each case leads to the next: a new case does not compile until it has its place.

extension TaskMachine.Phase {
    fileprivate var next: TaskMachine.Phase? {
        switch self {
        case .suspended: .waitingForBeginDate
        case .waitingForBeginDate: .waitingForDecision
        case .waitingForDecision: .waitingForBody
        case .waitingForBody: .waitingForSlot
        case .waitingForSlot: .attempting
        case .attempting: .held
        case .held: .waitingForRetry
        case .waitingForRetry: .waitingForConnectivity
        case .waitingForConnectivity: .finishing(nil)
        case .finishing: .ending(TaskMachineTests.error)
        case .ending: .settled
        case .settled: .abandoned
        case .abandoned: .completed
        case .completed: nil
        }
    }
}

extension TaskMachine.Input {
    fileprivate var next: TaskMachine.Input? {
        switch self {
        case .resume(beginsLater: false): .resume(beginsLater: true)
        case .resume(beginsLater: true): .suspend
        case .suspend: .cancel
        case .cancel: .beginDateReached
        case .beginDateReached: .decided
        case .decided: .bodyGiven
        case .bodyGiven: .slotGranted
        case .slotGranted: .detach
        case .detach: .again
        case .again: .retry
        case .retry: .retryDue
        case .retryDue: .cutOff
        case .cutOff: .reconnected
        case .reconnected: .answered
        case .answered: .failed(TaskMachineTests.error)
        case .failed: .contentKept
        case .contentKept: .handedOver
        case .handedOver: .interrupted(TaskMachineTests.error)
        case .interrupted: .interruptedWithPart(TaskMachineTests.error)
        case .interruptedWithPart: .partKept(TaskMachineTests.error)
        case .partKept: .settle
        case .settle: .abandon
        case .abandon: nil
        }
    }
}
