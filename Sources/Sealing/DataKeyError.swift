internal import Glibc

/// Why there is no key.
public enum DataKeyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Others than the owner may use the file; `mode` has its permission bits.
    case tooOpen(path: String, mode: UInt32)
    /// The file has not 32 bytes.
    case wrongSize(path: String, found: Int)
    /// A folder, a device or the like.
    case notAFile(path: String)
    /// The file went away while it was being made.
    case vanished(path: String)
    /// A system call failed.
    case system(path: String, call: String, errno: Int32)

    /// One sentence for the operator.
    public var description: String {
        switch self {
        case .tooOpen(let path, let mode):
            "The key file \(path) has mode 0\(String(mode, radix: 8)); it must be 0600."
        case .wrongSize(let path, let found):
            "The key file \(path) has \(found) bytes; a key has \(DataKey.byteCount)."
        case .notAFile(let path):
            "The key file \(path) is not a regular file."
        case .vanished(let path):
            "The key file \(path) was removed while it was being made."
        case .system(let path, let call, let errno):
            "The key file \(path) cannot be used: \(call): \(String(cString: strerror(errno)))."
        }
    }
}
