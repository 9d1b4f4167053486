import Engine
import Loop

/// A machine's network that changes when its test says so.
@LoopActor
final class FakeConnectivity: Connectivity {
    var onChange: (@LoopActor () -> Void)?

    nonisolated init() {}

    /// A route has come, or gone.
    func change() { onChange?() }
}
