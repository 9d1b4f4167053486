/// The isolation of everything that touches libevent or libcurl: one thread, one event loop.
@globalActor
public actor LoopActor {
    /// The actor itself; its state is the program's loop-isolated state.
    public static let shared = LoopActor()
    /// The loop of the process. Somebody has to `run()` it, or `start()` it on a thread of its own.
    public static let loop = EventLoop()

    /// The loop, as the runtime wants it.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        LoopActor.loop.asUnownedSerialExecutor()
    }

    /// The one door from a C callback into loop-isolated Swift. Costs a few nanoseconds.
    ///
    /// - Precondition: Called on the loop's thread; anywhere else it traps.
    @inlinable
    public nonisolated static func assumeIsolated<T>(
        _ body: @LoopActor () throws -> T
    ) rethrows -> T {
        precondition(loop.isCurrent, "not on the event loop's thread")
        return try withoutActuallyEscaping(body) { body in
            // Safe: the isolation of a synchronous function is not part of its calling convention,
            // and the precondition has just proven that it holds. `MainActor.assumeIsolated` in the
            // standard library does the same.
            try unsafeBitCast(body, to: (() throws -> T).self)()
        }
    }

    /// Runs on the loop's thread what was kept to be run there: nothing is allocated for it.
    nonisolated static func run(_ body: @escaping @LoopActor () -> Void) {
        precondition(loop.isCurrent, "not on the event loop's thread")
        // Safe for the reason given in `assumeIsolated`.
        unsafeBitCast(body, to: (() -> Void).self)()
    }

    /// The door for a C callback whose context is an unretained `Owner`: recovers it, keeps it
    /// alive for the call, and enters the loop's isolation. Does nothing without a context.
    ///
    /// - Precondition: Called on the loop's thread, with a context made by
    ///   `Unmanaged.passUnretained(owner).toOpaque()` of a living owner of exactly this type.
    @inlinable
    @inline(__always)
    public nonisolated static func enter<Owner: AnyObject>(
        _ context: UnsafeMutableRawPointer?, as type: Owner.Type,
        _ body: @LoopActor (Owner) -> Void
    ) {
        precondition(loop.isCurrent, "not on the event loop's thread")
        loop.noteWork()
        guard let context else { return }
        let owner = Unmanaged<Owner>.fromOpaque(context).takeUnretainedValue()
        withoutActuallyEscaping(body) { body in
            // Safe for the reason given in `assumeIsolated`.
            unsafeBitCast(body, to: ((Owner) -> Void).self)(owner)
        }
    }

    /// The door for a C callback whose arguments no other thread has: hands them into the loop's
    /// isolation.
    ///
    /// - Precondition: Called on the loop's thread.
    @inlinable
    @inline(__always)
    public nonisolated static func enter<Argument, Answer: Sendable>(
        with argument: Argument, _ body: @LoopActor (Argument) -> Answer
    ) -> Answer {
        precondition(loop.isCurrent, "not on the event loop's thread")
        loop.noteWork()
        return withoutActuallyEscaping(body) { body in
            // Safe for the reason given in `assumeIsolated`.
            unsafeBitCast(body, to: ((Argument) -> Answer).self)(argument)
        }
    }

    /// Runs `body` on the loop, soon, in the order of the calls of one thread.
    ///
    /// Callable from any thread and cheap: one lock, and one write to the eventfd when nothing else
    /// was waiting; from the loop's own thread neither.
    public nonisolated static func post(_ body: @escaping @Sendable @LoopActor () -> Void) {
        loop.post(body)
    }

    /// Runs `body` at the end of this turn of the loop, after the events that are now due, and the
    /// jobs that have their part of this turn, and before the loop sleeps: the place to flush once
    /// what was gathered by many callbacks.
    @LoopActor
    public static func later(_ body: @escaping @LoopActor () -> Void) {
        loop.later(body)
    }
}
