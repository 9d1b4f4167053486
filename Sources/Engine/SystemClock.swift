internal import Glibc
internal import Loop
public import Semantics

/// The machine's clocks.
public struct SystemClock: Clock {
    /// The clocks have no state: all of them tell the same.
    public init() {}

    /// CLOCK_REALTIME, cut to milliseconds; it may jump.
    public var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// By the process's zone (tzset(3)), whose rules are read again where its file has changed.
    public var secondOfDay: Int {
        var (instant, local) = (time(nil), tm())
        tzset()
        localtime_r(&instant, &local)
        // There may be a leap second.
        return min(Int(local.tm_hour) * 3600 + Int(local.tm_min) * 60 + Int(local.tm_sec), 86_399)
    }

    /// CLOCK_MONOTONIC, but for the time in which the process stood still: see `LoopClock`.
    public var uptime: Duration {
        // What `.nanoseconds` does, by one multiplication.
        Duration(attoseconds: Int128(LoopActor.loop.clock.now) * 1_000_000_000)
    }

    /// CLOCK_BOOTTIME, and the kernel's name for this boot.
    public var machine: MachineTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MachineTime(
            boot: Self.boot, elapsed: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }

    /// Where the kernel does not tell, each process has a name of its own: the wall clock counts
    /// between them.
    private static let boot: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        var bytes = [UInt8](repeating: 0, count: 36)
        guard descriptor >= 0, read(descriptor, &bytes, bytes.count) == bytes.count else {
            return "process \(UInt64.random(in: .min ... .max))"
        }
        return String(decoding: bytes, as: UTF8.self)
    }()
}
