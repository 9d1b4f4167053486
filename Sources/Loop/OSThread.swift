internal import CEvent
internal import Glibc

/// Threads of the operating system, for what blocks: Swift's own pool must not.
enum OSThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new, detached thread of the default stack size.
    /// Debuggers show up to 15 bytes of `name`.
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(
            Body {
                name.withCString { cevent_name_thread($0) }
                body()
            }
        ).toOpaque()
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context)
        precondition(failure == 0, "pthread_create: \(String(cString: strerror(failure)))")
        pthread_detach(thread)
    }
}
