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
    ///
    /// - Precondition: There can be another thread.
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let failure = tryToStart(name, body)
        precondition(failure == 0, "pthread_create: \(String(cString: strerror(failure)))")
    }

    /// The same.
    ///
    /// - Returns: 0, or the error code where there can be no other thread: pthread_create(3).
    static func tryToStart(_ name: String, _ body: @escaping @Sendable () -> Void) -> CInt {
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
        guard failure == 0 else {
            Unmanaged<Body>.fromOpaque(context).release()
            return failure
        }
        pthread_detach(thread)
        return 0
    }
}
