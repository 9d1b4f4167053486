internal import Loop

/// Watches output that waits for its client.
struct OutputWatch {
    /// The bytes that the client had taken at the last look.
    private var lastWritten: Int64 = 0
    /// When they had last grown; nil while nothing waits for the client.
    private var lastProgress: Uptime?
    /// How long the client may take nothing.
    private var limit = Duration.zero {
        didSet { if limit != oldValue { pause = Uptime(0).advanced(by: limit) / 4 } }
    }
    /// Nanoseconds between two looks.
    private var pause: Int64 = 0

    /// Whether there is such output.
    var isOn: Bool { lastProgress != nil }

    /// Output waits for the client, which had taken so many bytes until now.
    mutating func begin(written: Int64, limit: Duration) {
        // What waits already is allowed its time.
        self.limit = isOn ? max(self.limit, limit) : limit
        guard !isOn else { return }
        lastProgress = .now
        lastWritten = written
    }

    /// Nothing waits any more.
    mutating func end() { lastProgress = nil }

    /// When it is to be looked at again: four times within the limit.
    var nextLook: Uptime { .now + pause }

    /// Whether the client has taken nothing for too long.
    ///
    /// What it has taken since the last look counts as taken now.
    ///
    /// - Parameters:
    ///   - queued: how many bytes wait.
    ///   - written: how many it has taken.
    ///   - limit: what is too long; nil for its own limit.
    ///   - now: the time.
    /// - Returns: false also where nothing waits for the client any more.
    mutating func hasStalled(
        queued: Int, written: Int64, for limit: Duration? = nil, at now: Uptime
    ) -> Bool {
        if queued == 0 { end() }
        guard let lastProgress else { return false }
        guard written == lastWritten else {
            lastWritten = written
            self.lastProgress = now
            return false
        }
        return now >= lastProgress.advanced(by: limit ?? self.limit)
    }
}
