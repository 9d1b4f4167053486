internal import CEvent

/// A libevent event on a socket, owned by Swift: freed with its owner, its closure called on the
/// loop.
@LoopActor
public final class Watch {
    /// What a watch waits for.
    public struct Interest: OptionSet, Sendable {
        /// libevent's bits.
        public let rawValue: Int16
        /// Makes an interest of libevent's bits.
        public init(rawValue: Int16) { self.rawValue = rawValue }
        /// Bytes, a connection or the end of the stream have arrived.
        public static let read = Interest(rawValue: Int16(EV_READ))
        /// There is room to write, or a connect has ended.
        public static let write = Interest(rawValue: Int16(EV_WRITE))
    }

    /// The socket that is watched.
    public let socket: CInt
    private let action: @LoopActor (Interest) -> Void
    private var event: OpaquePointer?

    /// Watches `socket` until the watch is released or cancelled; the socket stays the caller's.
    /// `action` is called in every turn in which something of `interest` holds; it may release the
    /// watch.
    public init(
        socket: CInt, for interest: Interest, action: @escaping @LoopActor (Interest) -> Void
    ) {
        self.socket = socket
        self.action = action
        let flags = interest.rawValue | Int16(EV_PERSIST)
        let context = Unmanaged.passUnretained(self).toOpaque()
        event = event_new(LoopActor.loop.rawBase, socket, flags, Watch.callback, context)
        event_add(event, nil)
    }

    /// Changes what is watched, in place.
    public func change(to interest: Interest) {
        event_del(event)
        let flags = interest.rawValue | Int16(EV_PERSIST)
        let context = Unmanaged.passUnretained(self).toOpaque()
        event_assign(event, LoopActor.loop.rawBase, socket, flags, Watch.callback, context)
        event_add(event, nil)
    }

    /// Watches again, after `cancel`.
    public func start() {
        event_add(event, nil)
    }

    /// Stops watching. Call it before the socket is closed by anyone else.
    public func cancel() {
        event_del(event)
    }

    isolated deinit {
        event_free(event)
    }

    private nonisolated static let callback: event_callback_fn = { _, what, context in
        LoopActor.enter(context, as: Watch.self) { $0.action(Interest(rawValue: what)) }
    }
}
