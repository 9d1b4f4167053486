/// What a peer does on a connection of HTTP/2 that costs this side and brings nobody on, counted
/// over windows of ten seconds.
struct PeerConduct {
    /// Requests that a peer may take back, or have refused for what is wrong with them, beyond as
    /// many as were answered (CVE-2023-44487, CVE-2019-9514).
    private static let resetLimit = 200
    /// Frames that move nothing: PING, SETTINGS, PRIORITY, and DATA without a byte or with padding
    /// only (CVE-2019-9512 to 9518).
    private static let idleLimit = 1000
    private static let window = Duration.seconds(10)

    private var end: Uptime = 0
    private var (resets, idle, windowUpdates) = (0, 0, 0)
    private var (answers, dataFrames) = (0, 0)

    /// An answer was sent, or has come, to its end.
    mutating func noteAnswer() { answers += 1 }

    /// A DATA frame was sent.
    mutating func noteData() { dataFrames += 1 }

    /// The peer has sent a frame; whether that was one too many.
    mutating func note(_ frame: HTTP2Session.Frame) -> Bool {
        let now = Uptime.now
        if now >= end {
            self = PeerConduct()
            end = now.advanced(by: PeerConduct.window)
        }
        switch frame {
        case .reset: resets += 1
        case .idle: idle += 1
        case .windowUpdate: windowUpdates += 1
        }
        return resets > PeerConduct.resetLimit + answers || idle > PeerConduct.idleLimit
            || windowUpdates > PeerConduct.idleLimit + 4 * (dataFrames + answers)
    }
}
