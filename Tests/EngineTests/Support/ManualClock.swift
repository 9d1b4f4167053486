import Engine
import Semantics
import Synchronization

/// Two clocks that stand until they are set.
final class ManualClock: Clock {
    private struct Hands {
        var wall: Int64 = 1_800_000_000_000
        var uptime = Duration.seconds(1000)
    }

    private let hands = Mutex(Hands())

    var now: Timestamp { Timestamp(milliseconds: hands.withLock { $0.wall }) }
    var uptime: Duration { hands.withLock { $0.uptime } }

    /// Time goes by, on both clocks.
    func advance(by duration: Duration) {
        hands.withLock { hands in
            hands.uptime += duration
            hands.wall += duration.wholeMilliseconds
        }
    }

    /// Somebody sets the wall clock.
    func jump(by duration: Duration) {
        hands.withLock { $0.wall += duration.wholeMilliseconds }
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
