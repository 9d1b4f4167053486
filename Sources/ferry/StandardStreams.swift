import Client
import Glibc

/// The three descriptors that every process is started with.
enum StandardStreams {
    /// Makes sure that there are all three, and that the process fails where its last words, such
    /// as those of `--help`, cannot be written.
    ///
    /// One that was closed is opened so that it cannot be used: else the next file that is opened
    /// would have its number, and get what is meant for people.
    static func prepare() {
        for (descriptor, flags) in [
            (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY),
        ] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is this one.
            _ = open("/dev/null", flags)
        }
        atexit {
            guard fflush(nil) != 0 else { return }
            let reason = String(cString: strerror(errno))
            _ = StandardStreams.write("ferry: standard output: \(reason)\n", to: STDERR_FILENO)
            _exit(23)
        }
    }

    /// Writes all of a text.
    /// - Returns: 0, or the error's number.
    static func write(_ text: String, to descriptor: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { LocalFile.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
    }
}
