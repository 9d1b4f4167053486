/// Measures how fast a body comes, in the time in which somebody waits for it.
struct BodyPacer {
    private let pace: BodyPace
    private var waited: Int64 = 0
    private var bytes = 0
    private var since: Uptime?

    init(pace: BodyPace) {
        self.pace = pace
    }

    private var window: Int64 { Uptime(0).advanced(by: pace.window) }

    /// When the window of waiting will be over, if nothing comes.
    var deadline: Uptime { (since ?? .now) + max(0, window - waited) }

    mutating func beginWaiting() {
        since = .now
    }

    mutating func endWaiting() {
        waited += elapsed
        since = nil
    }

    mutating func take(_ count: Int) {
        if pace.restarts, count > 0 { waited = 0 } else { bytes += count }
    }

    /// Judges the window when it is over, and begins the next one.
    var isTooSlow: Bool {
        mutating get {
            guard waited + elapsed >= window else { return false }
            let isTooSlow = bytes < pace.bytes
            waited = 0
            bytes = 0
            if since != nil { since = .now }
            return isTooSlow
        }
    }

    private var elapsed: Int64 { since.map { .now - $0 } ?? 0 }
}
