internal import CCurl
internal import Files
internal import Glibc

/// Whether the process has descriptors left.
enum SpareDescriptors {
    /// A look-up takes a pair of sockets, one for the question, and a file.
    private static let enough = 4

    /// Whether there are not enough for one more look-up. Some 5 µs.
    static var areLacking: Bool {
        var opened: [CInt] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < enough {
            let type = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(AF_UNIX, type, 0)
            guard descriptor >= 0 else {
                return FileError("socket", code: errno).isOutOfDescriptors
            }
            opened.append(descriptor)
        }
        return false
    }
}
