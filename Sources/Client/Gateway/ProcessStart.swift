internal import Glibc
internal import JSON

/// Which of the processes that have had a number one is: when it was started, after which start of
/// the machine.
struct ProcessStart: Equatable {
    /// Clock ticks from the machine's start to the process's (proc_pid_stat(5), field 22).
    private let ticks: Int64
    /// The machine's start (proc_sys_kernel(5), `random/boot_id`).
    private let boot: String

    /// Nil where there is no such process, or /proc does not show it.
    init?(of process: Int32) {
        guard process > 0, let stat = ProcessStart.text(of: "/proc/\(process)/stat"),
            let boot = ProcessStart.text(of: "/proc/sys/kernel/random/boot_id"),
            // The name in the second field may have spaces and parentheses.
            let end = stat.lastIndex(of: ")")
        else { return nil }
        let fields = stat[end...].split(separator: " ")
        guard fields.count > 20, let ticks = Int64(fields[20]) else { return nil }
        // A process that has ended and was not waited for serves nobody.
        guard fields[1] != "Z", fields[1] != "X" else { return nil }
        self.ticks = ticks
        self.boot = boot.trimmed
    }

    /// The one that `write` has written; nil for none.
    init?(_ json: JSONValue) {
        guard let ticks = json["startTicks"]?.int64, let boot = json["boot"]?.string else {
            return nil
        }
        self.ticks = ticks
        self.boot = boot
    }

    /// Writes the members `startTicks` and `boot`.
    func write(to json: inout JSONWriter) {
        json.member("startTicks", ticks)
        json.member("boot", boot)
    }

    private static func text(of path: String) -> String? {
        let bytes = try? LocalFile.read(path, limit: 4096, onlyOwn: false)
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
