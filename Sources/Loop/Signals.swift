internal import CEvent
internal import Glibc

/// Signals of the operating system as events of the loop, until the object is released: then they
/// do what they did before, which for the ending ones is to kill the process.
@LoopActor
public final class Signals {
    /// The signals that ask a server to end.
    public nonisolated static let ending: [CInt] = [SIGTERM, SIGINT]

    private let action: @LoopActor (CInt) -> Void
    private var events: [OpaquePointer] = []

    /// Calls `action` on the loop with the number of each signal that arrives.
    public init(_ signals: [CInt] = Signals.ending, action: @escaping @LoopActor (CInt) -> Void) {
        self.action = action
        for signal in signals {
            let event = event_new(
                LoopActor.loop.rawBase, signal, Int16(EV_SIGNAL | EV_PERSIST), Signals.callback,
                Unmanaged.passUnretained(self).toOpaque())
            guard let event else { continue }
            event_add(event, nil)
            events.append(event)
        }
    }

    isolated deinit {
        for event in events { event_free(event) }
    }

    /// Makes writing to a closed connection an error instead of the end of the process.
    ///
    /// The loop does it when it starts; whoever writes to sockets before calls it first.
    public nonisolated static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }

    private nonisolated static let callback: event_callback_fn = { number, _, context in
        LoopActor.enter(context, as: Signals.self) { $0.action(number) }
    }
}
