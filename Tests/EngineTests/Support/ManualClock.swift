import Engine
import Semantics
import Synchronization

/// Clocks that stand until they are set.
final class ManualClock: Clock {
    private struct Hands {
        var wall: Int64 = 1_800_000_000_000
        var uptime = Duration.seconds(1000)
        var boot = 1
        var bootedAt = Duration.zero
        var zone = 0
    }

    private let hands = Mutex(Hands())

    var now: Timestamp { Timestamp(milliseconds: hands.withLock { $0.wall }) }
    var secondOfDay: Int {
        hands.withLock { Int($0.wall / 1000 + Int64($0.zone)) % 86_400 }
    }
    var uptime: Duration { hands.withLock { $0.uptime } }

    var machine: MachineTime {
        hands.withLock { MachineTime(boot: "\($0.boot)", elapsed: $0.uptime - $0.bootedAt) }
    }

    /// The machine is started again; only the wall clock tells how long that took.
    func restartMachine() {
        hands.withLock { hands in
            hands.boot += 1
            hands.bootedAt = hands.uptime
        }
    }

    /// Time goes by, on all clocks.
    func advance(by duration: Duration) {
        hands.withLock { hands in
            hands.uptime += duration
            hands.wall += duration.milliseconds
        }
    }

    /// Summer time begins, or ends where that is negative.
    func moveZone(by duration: Duration) {
        hands.withLock { $0.zone += Int(duration.components.seconds) }
    }

    /// Somebody sets the wall clock.
    func jump(by duration: Duration) {
        hands.withLock { $0.wall += duration.milliseconds }
    }
}
