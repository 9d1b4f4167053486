import Engine
import Semantics
import Synchronization

/// Days that go by when the test says so; what waits goes by the system's clock.
final class WallClock: Engine.Clock {
    private let offset = Mutex(Int64(0))
    private let system = SystemClock()

    var now: Timestamp {
        // In whole seconds, so that no test depends on how long its requests take.
        Timestamp(milliseconds: 1_800_000_000_000 + offset.withLock { $0 })
    }
    var secondOfDay: Int { Int(now.milliseconds / 1000 % 86_400) }
    var uptime: Duration { system.uptime }
    var machine: MachineTime {
        MachineTime(boot: "test", elapsed: .seconds(1000) + .milliseconds(offset.withLock { $0 }))
    }

    func advance(by seconds: Int64) { offset.withLock { $0 += seconds * 1000 } }
}
