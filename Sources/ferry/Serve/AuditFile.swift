import Client
import Diagnostics
import Engine
import Glibc
import JSON
import Semantics
import Synchronization

/// The file of the audit: an object of JSON on a line, for the gateway's user only.
///
/// Whoever notes something never waits: a thread writes what has come, once a second, and syncs it.
/// What a full or slow disk does not take waits in memory, up to a limit; what is beyond it is
/// counted, and told in the file when there is room again.
final class AuditFile: AuditLog {
    private struct State {
        var waiting: [UInt8] = []
        /// Since the start, and of these the ones that the file does not tell of yet.
        var lost = 0
        var untold = 0
        var wantsReopening = false
        var isClosing = false
    }

    /// How many bytes of lines wait at most.
    private static let limit = 4 << 20
    private static let log = Log("audit")

    private let path: String
    private let state = Mutex(State())
    private let descriptor: Mutex<Int32>
    private let thread: Mutex<pthread_t?> = Mutex(nil)

    /// Opens the file, or makes it.
    /// - Throws: `Refusal` where that is not possible.
    init(_ path: String) throws(Refusal) {
        self.path = path
        do throws(Fault) {
            descriptor = Mutex(try AuditFile.open(path))
        } catch {
            throw Refusal(description: "--audit-log \(path): \(error.words)", code: 73)
        }
        let failure = start()
        guard failure == 0 else {
            let words = String(cString: strerror(failure))
            throw Refusal(
                description: "--audit-log \(path): nothing can write it: \(words)", code: 73)
        }
    }

    /// Why a path is no file of the audit.
    private struct Fault: Error {
        let words: String

        init(_ words: String) { self.words = words }

        init(errno number: Int32) {
            // What a pipe that nobody reads says, or a socket.
            words =
                number == ENXIO ? "It is no regular file." : String(cString: strerror(number))
        }
    }

    /// Opens a file for the gateway's user only, whatever its mode was. A pipe or a device is
    /// refused: it would keep no line, and may take none for as long as it likes.
    private static func open(_ path: String) throws(Fault) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let file = Glibc.open(path, flags, 0o600)
        guard file >= 0 else { throw Fault(errno: errno) }
        var status = stat()
        let isRegular = fstat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        // Nothing of a device is changed.
        guard isRegular, fchmod(file, 0o600) == 0 else {
            let fault = isRegular ? Fault(errno: errno) : Fault("It is no regular file.")
            Glibc.close(file)
            throw fault
        }
        return file
    }

    var lostCount: Int { state.withLock(\.lost) }

    func note(_ entry: AuditEntry) {
        let line = entry.line
        state.withLock { state in
            guard state.waiting.count + line.count <= AuditFile.limit else {
                state.lost += 1
                state.untold += 1
                return
            }
            state.waiting += line
        }
    }

    /// The file may have been moved: what comes next goes to one of the same name.
    func reopen() { state.withLock { $0.wantsReopening = true } }

    /// Writes what waits, and ends.
    func close() {
        state.withLock { $0.isClosing = true }
        let thread = thread.withLock { $0 }
        if let thread { pthread_join(thread, nil) }
    }

    // MARK: The thread

    /// - Returns: 0, or the error code where there can be no other thread.
    private func start() -> Int32 {
        var thread = pthread_t()
        let held = Unmanaged.passRetained(self)
        let failure = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<AuditFile>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, held.toOpaque())
        if failure == 0 { self.thread.withLock { $0 = thread } } else { held.release() }
        return failure
    }

    private func work() {
        var hasFailed = false
        while true {
            let isLast = state.withLock(\.isClosing)
            let failure = flush()
            if failure != 0, !hasFailed {
                AuditFile.log.write(
                    .error, "the audit log cannot be written: its lines wait, and may be lost",
                    ["error": .words(String(cString: strerror(failure)))])
            } else if failure == 0, hasFailed {
                AuditFile.log.write(
                    .notice, "the audit log is written again",
                    ["lost": .number(state.withLock(\.lost))])
            }
            hasFailed = failure != 0
            if isLast { return }
            // In small steps, so that an end does not wait for it.
            for _ in 0..<10 where !state.withLock(\.isClosing) { usleep(100_000) }
        }
    }

    /// Brings what waits to the disk.
    /// - Returns: 0, or the error's number; then all of it still waits.
    private func flush() -> Int32 {
        let (bytes, untold, reopens) = state.withLock { state in
            defer { state.wantsReopening = false }
            return (state.waiting, state.untold, state.wantsReopening)
        }
        if reopens { replaceDescriptor() }
        guard !bytes.isEmpty || untold > 0 else { return 0 }
        let file = descriptor.withLock { $0 }
        var status = stat()
        guard fstat(file, &status) == 0 else { return errno }
        let all = bytes + (untold > 0 ? AuditEntry.lines(lost: untold) : [])
        var failure = all.withUnsafeBytes { LocalFile.writeAll($0, to: file) }
        if failure == 0, fdatasync(file) != 0 { failure = errno }
        var written = all.count
        if failure != 0 {
            // What has come of it is taken back, so that no line is there twice, nor half of one.
            if ftruncate(file, status.st_size) == 0 { return failure }
            // From a file that only grows nothing is: what follows goes on from there.
            var grown = stat()
            guard fstat(file, &grown) == 0 else { return failure }
            written = min(all.count, max(0, Int(grown.st_size - status.st_size)))
        }
        state.withLock { state in
            state.waiting.removeFirst(min(written, bytes.count))
            if written == all.count { state.untold -= untold }
        }
        return failure
    }

    private func replaceDescriptor() {
        let new: Int32
        do throws(Fault) {
            new = try AuditFile.open(path)
        } catch {
            AuditFile.log.write(
                .error, "SIGHUP: the audit log stays the file that it was",
                ["error": .words(error.words)])
            return
        }
        let old = descriptor.withLock { descriptor in
            defer { descriptor = new }
            return descriptor
        }
        Glibc.close(old)
    }
}

extension AuditEntry {
    /// The entry as a line of the file.
    fileprivate var line: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("time", instant: at.milliseconds)
            switch action {
            case .call(let operation):
                json.member("action", "call")
                json.member("operation", operation)
            case .repeatedCalls(let operation, let count):
                json.member("action", "callRepeated")
                json.member("operation", operation)
                json.member("count", count)
            case .refusedTokens(let count):
                json.member("action", "tokenRefused")
                json.member("count", count)
            case .deniedDestination(let host, let port):
                json.member("action", "destinationDenied")
                json.member("host", host)
                json.member("port", port)
            case .deniedDestinations(let host, let port, let count):
                json.member("action", "destinationDeniedRepeated")
                json.member("host", host)
                json.member("port", port)
                json.member("count", count)
            }
            json.member("tenant", tenant)
            json.member("token", token)
            json.member("peer", peer)
            json.member("request", request)
            json.member("target", target)
            if !origin.isEmpty {
                json.array("origin") { json in
                    for id in origin { json.string(id) }
                }
            }
            json.member("status", status)
        }
        return json.finish() + [0x0A]
    }

    /// What tells in the file that lines are missing.
    fileprivate static func lines(lost count: Int) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("time", instant: SystemClock().now.milliseconds)
            json.member("action", "linesLost")
            json.member("count", count)
        }
        return json.finish() + [0x0A]
    }
}
