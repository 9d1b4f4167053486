internal import HeapModule
internal import Loop

/// A round of the scheduler under one limit: who is served next.
struct Contest {
    /// How many meters wait for this limit.
    var waitingCount: Int64 = 0
    /// The most that is given in one go.
    private(set) var portion: Int64 = 0
    /// The greatest lead that was served: how far the round has come.
    private(set) var progress: Int64 = 0
    private var contestants = Heap<Contestant>()

    /// Begins a round, in which four portions for each that waits use up what is there.
    mutating func begin(with bucket: TokenBucket) {
        portion = max(bucket.quantum, bucket.bytes / (4 * max(waitingCount, 1)))
        progress = 0
        contestants = Heap()
    }

    mutating func insert(_ contestant: Contestant) {
        contestants.insert(contestant)
    }

    mutating func popNext() -> Contestant? { contestants.popMin() }

    /// Who is served next.
    var next: Contestant? { contestants.min }

    /// A share that was `lead` bytes ahead is served.
    mutating func notePick(lead: Int64) {
        progress = max(progress, lead)
    }
}

/// Who wants something of a limit: a share that no nearer limit concerns, or a nearer limit for
/// those under it.
struct Contestant: Comparable {
    /// The share's index among the scheduler's; of a limit, the one that it would serve next.
    let share: Int
    /// The limit's index among the scheduler's; nil for a share.
    let limit: Int?
    /// How far that share is ahead under the limit of the contest.
    let lead: Int64

    /// Who has got less comes first; among equals who came first.
    static func < (left: Contestant, right: Contestant) -> Bool {
        (left.lead, left.share) < (right.lead, right.share)
    }

    static func == (left: Contestant, right: Contestant) -> Bool {
        (left.lead, left.share) == (right.lead, right.share)
    }
}
