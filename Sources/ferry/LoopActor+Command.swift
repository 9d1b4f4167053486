import Loop
import Synchronization

extension LoopActor {
    /// Runs the loop of the process on this thread until the body has ended; once in a process.
    ///
    /// - Returns: what the body returns.
    /// - Throws: what the body throws.
    static func runLoop<Value: Sendable>(
        _ body: @escaping @Sendable @LoopActor () async throws -> Value
    ) throws -> Value {
        let outcome = Outcome<Value>()
        Task { @LoopActor in
            do { outcome.set(.success(try await body())) } catch { outcome.set(.failure(error)) }
            loop.stop()
        }
        loop.run()
        return try outcome.get()
    }

    /// Handed from the loop to its caller when the loop has ended.
    private final class Outcome<Value: Sendable>: Sendable {
        private let value = Mutex<Result<Value, any Error>?>(nil)

        func set(_ result: Result<Value, any Error>) { value.withLock { $0 = result } }

        func get() throws -> Value {
            guard let result = value.withLock({ $0 }) else {
                preconditionFailure("the loop ends when the body has")
            }
            return try result.get()
        }
    }
}
