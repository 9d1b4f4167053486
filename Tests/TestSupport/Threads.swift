import Foundation
import Synchronization

/// A Boolean that any thread may raise and none may lower.
final class Flag: Sendable {
    private let value = Atomic(false)

    func raise() {
        value.store(true, ordering: .releasing)
    }

    var isRaised: Bool { value.load(ordering: .acquiring) }
}

/// Runs `body` on an operating-system thread of its own, with 512 KiB of stack.
///
/// Blocking calls live on such threads, so that they take nothing from Swift's cooperative pool.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    thread.name = name
    thread.stackSize = 512 * 1024
    thread.start()
}

/// Runs blocking work on a thread of its own and awaits its outcome.
func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        startThread("blocking call") { continuation.resume(with: Result(catching: body)) }
    }
}
