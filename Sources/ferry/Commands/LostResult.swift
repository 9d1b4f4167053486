internal import Client
internal import Synchronization

/// The first result of several that nobody gets; any thread may note one.
final class LostResult: Sendable {
    private let error = Mutex<ClientError?>(nil)

    /// Does `print`, and keeps its error for later.
    func note(_ print: () throws(ClientError) -> Void) {
        do throws(ClientError) {
            try print()
        } catch {
            self.error.withLock { $0 = $0 ?? error }
        }
    }

    /// Throws what was noted.
    func require() throws(ClientError) {
        if let error = error.withLock({ $0 }) { throw error }
    }
}
