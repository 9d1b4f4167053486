/// The rate of a transfer over its last few seconds, so that the figure neither jumps nor lags.
public struct RateMeter: Sendable {
    private struct Sample {
        var at: Duration
        var bytes: Int64
    }

    private let window: Duration
    private var samples: [Sample] = []

    /// A meter that looks back for `window`.
    public init(window: Duration = .seconds(5)) {
        self.window = window
    }

    /// Notes that `bytes` had arrived in all at the time `at`, which never goes back.
    ///
    /// A total below the last one, as after a start from zero, begins a new measurement.
    public mutating func note(_ bytes: Int64, at: Duration) {
        if let last = samples.last, bytes < last.bytes { samples.removeAll() }
        if samples.count > 1, let last = samples.last, at - samples[samples.count - 2].at < grain {
            samples[samples.count - 1] = Sample(at: max(at, last.at), bytes: bytes)
        } else {
            samples.append(Sample(at: at, bytes: bytes))
        }
        // One sample from before the window stays: the window begins at it.
        let kept = samples.lastIndex { at - $0.at >= window } ?? 0
        samples.removeFirst(kept)
    }

    /// Samples closer than this are one: the memory is bounded by the window, not by the calls.
    private var grain: Duration { window / 50 }

    /// The last total that was noted; nil before there is one.
    var last: Int64? { samples.last?.bytes }

    /// Bytes a second up to the last note; nil before there are two points to measure between.
    public var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.at > first.at else {
            return nil
        }
        return Double(last.bytes - first.bytes) / ((last.at - first.at) / .seconds(1))
    }

    /// How long `bytes` more will take at this rate; nil when nothing moves.
    public func time(for bytes: Int64) -> Duration? {
        guard let rate = bytesPerSecond, rate >= 1 else { return nil }
        return .seconds(min(Double(bytes) / rate, 1e9))
    }
}
