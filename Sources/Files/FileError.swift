internal import Glibc

/// A failed call on a file. Names no path, so that it may be logged and answered.
public struct FileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The call: `open`, `pwrite`, `fdatasync`…
    public let operation: String
    /// Its `errno`.
    public let code: CInt

    /// Makes the error of `operation`; read `errno` at once, before any `await`.
    public init(_ operation: String, code: CInt) {
        self.operation = operation
        self.code = code
    }

    /// The system's words for `code`.
    public var words: String { String(cString: strerror(code)) }

    /// No room: the disk is full, or the quota is used up.
    public var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT }

    /// No descriptor at the moment: others will come free.
    public var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }

    /// What is on another machine cannot be reached at the moment, or does not answer.
    public var isAway: Bool {
        [EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ETIMEDOUT, ENOTCONN].contains(code)
    }

    /// What the disk has taken is there as before: neither has it failed, nor was it full.
    public var leavesBytes: Bool { code != EIO && code != 0 && !isOutOfSpace }

    /// Nothing has failed for good: the same call may succeed in a while.
    public var isForLater: Bool { isOutOfDescriptors || isAway }

    /// The operation and the system's words.
    public var description: String { "\(operation): \(words)" }
}
