/// An estimate of how many bytes a second one connection brings, from what it brought lately.
struct TransferRate: Hashable, Sendable {
    /// When the connection was asked for.
    private let began: Duration
    /// Bytes a second until the window began; nil in the first one.
    private var earlier: Double?
    /// When the window began; nil until the first bytes, for the way there says nothing about the
    /// rate.
    private var windowBegan: Duration?
    private var windowBytes: Int64 = 0

    /// How long a window is, and how much of what was before is remembered in the next one.
    private static let window: Double = 2
    /// The first bytes come in a burst that tells nothing.
    private static let burst: Double = 0.1

    /// Nothing has come yet.
    init(at now: Duration) { self.began = now }

    /// Counts bytes that have come; `now` does not go back.
    mutating func add(_ count: Int64, at now: Duration) {
        guard let windowBegan else {
            windowBegan = now
            return
        }
        windowBytes += count
        guard (now - windowBegan).inSeconds >= Self.window else { return }
        earlier = estimate(at: now)
        self.windowBegan = now
        windowBytes = 0
    }

    /// Bytes a second; nil while it is too early to tell. It falls while nothing comes.
    func estimate(at now: Duration) -> Double? {
        guard let windowBegan else {
            return (now - began).inSeconds < Self.window ? nil : 0
        }
        let elapsed = max(0, (now - windowBegan).inSeconds)
        if let earlier {
            return (earlier * Self.window + Double(windowBytes)) / (Self.window + elapsed)
        }
        guard elapsed >= (windowBytes == 0 ? Self.window : Self.burst) else { return nil }
        return Double(windowBytes) / elapsed
    }
}

extension Duration {
    fileprivate var inSeconds: Double { self / .seconds(1) }
}
