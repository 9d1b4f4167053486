import Foundation
import Glibc

/// A file that the users of a private gateway hold shared locks on.
enum UserLock {
    /// Calls `action` once nobody holds a lock on the file any more; from then on this process has
    /// it to its end, so that whoever comes waits for that.
    ///
    /// - Throws: `Refusal` where there is no such file.
    static func waitUntilFree(_ path: String, then action: @escaping @Sendable () -> Void) throws {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Refusal(description: "\(path) cannot be opened for locking.", code: 66)
        }
        // Ended by the system as soon as the last user has gone, by whatever death.
        Thread.detachNewThread {
            while flock(descriptor, LOCK_EX) != 0 {
                guard errno == EINTR else { break }
            }
            action()
        }
    }
}
