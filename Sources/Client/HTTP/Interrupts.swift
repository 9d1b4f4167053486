internal import Glibc
internal import Synchronization

/// How often the user has asked the command to end: by Ctrl-C (SIGINT), SIGTERM or SIGHUP.
public struct Interrupts: Sendable {
    private let read: @Sendable () -> Int

    /// A count of any source.
    public init(_ read: @escaping @Sendable () -> Int) {
        self.read = read
    }

    /// None, ever.
    public static let none = Interrupts { 0 }

    /// How often so far.
    public var count: Int { read() }

    /// Takes over those signals for the rest of the process and counts them.
    ///
    /// A signal that is ignored, as SIGHUP under nohup, stays so. The third one ends the process at
    /// once, whatever it is doing.
    public static func ofProcess() -> Interrupts {
        // Made before a handler can run: making it in one would not be safe there.
        _ = signalCount.load(ordering: .relaxed)
        SilentTerminal.prepareForSignals()
        // A reader of standard output that has gone is an error of a write (EPIPE): the task has to
        // be ended.
        var ignore = sigaction()
        ignore.__sigaction_handler.sa_handler = SIG_IGN
        sigaction(SIGPIPE, &ignore, nil)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            guard !isIgnored(number) else { continue }
            var action = sigaction()
            action.__sigaction_handler.sa_handler = countSignal
            sigaction(number, &action, nil)
        }
        return Interrupts { signalCount.load(ordering: .relaxed) }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return true }
        // SIG_IGN is the number 1 in a function pointer's clothes.
        return withUnsafeBytes(of: action.__sigaction_handler) { $0.loadUnaligned(as: Int.self) }
            == 1
    }
}

private let signalCount = Atomic(0)

/// Runs between any two instructions of any thread: it may count, call tcsetattr, and `_exit`.
private func countSignal(_ number: Int32) {
    if signalCount.wrappingAdd(1, ordering: .relaxed).newValue >= 3 {
        SilentTerminal.endFromSignal()
        _exit(ExitStatus.interrupted.rawValue)
    }
}
