internal import Loop

/// How much of a content has come, whether more can, and who waits for it.
struct SpoolGrowth {
    /// How much of the content can be read: all bytes from the first to here have come.
    private(set) var length: Int64
    private(set) var isClosed = false
    /// Whether it was closed before its end.
    private(set) var isBroken = false
    private var followers = Waiters()

    init(length: Int64 = 0) {
        self.length = length
    }

    /// All bytes from the first to `length` have come.
    mutating func grow(to length: Int64) {
        guard length > self.length else { return }
        self.length = length
        followers.wakeAll()
    }

    /// Nothing more comes.
    mutating func close(isBroken: Bool) {
        isClosed = true
        self.isBroken = isBroken
        followers.wakeAll()
    }

    /// Whether there is more than up to `offset`, or the end.
    func isBeyond(_ offset: Int64) -> Bool { length > offset || isClosed }

    /// A follower waits for more, or the end.
    mutating func add(_ follower: CheckedContinuation<Void, Never>) { followers.add(follower) }
}
