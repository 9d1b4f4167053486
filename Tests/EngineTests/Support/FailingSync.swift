import Glibc
import TestSupport

/// A file that takes all that is written, and cannot be synced.
enum FailingSync {
    /// Puts such a file in the place of each part of a download that is open for writing.
    ///
    /// - Returns: whether there was one.
    static func open(in directory: TemporaryDirectory) throws -> Bool {
        let null = Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        var isFound = false
        for descriptor in CInt(3)..<4096 {
            var path = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(descriptor)", &path, path.count)
            guard count > 0 else { continue }
            let name = String(
                decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard name.hasPrefix(directory.path), name.hasSuffix(".part") else { continue }
            isFound = dup2(null, descriptor) == descriptor || isFound
        }
        return isFound
    }
}
