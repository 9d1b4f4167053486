internal import Loop
internal import Semantics

/// What the scheduler serves at a time: the meters that hang on one limit, together.
@LoopActor
struct Share {
    /// The limit that they hang on.
    let holder: Bandwidth
    /// For every limit of the holder's chain, the outermost first: how many bytes more the share
    /// has got there than the one that is served next. Less than 0 for one that another limit has
    /// held up; that is served first.
    private(set) var leads: [Int64]

    init(of holder: Bandwidth) {
        self.holder = holder
        leads = Array(repeating: 0, count: holder.depth + 1)
    }

    /// Counts bytes that were given to one of the meters, whether it will move them or not: of what
    /// may be put off, each as many.
    mutating func charge(_ bytes: Int64) {
        let count = holder.isDiscretionary ? bytes * Discretion.shareOfOthers : bytes
        for node in holder.chain where node.bucket != nil { leads[node.depth] += count }
    }

    /// The round is over: the one that is served next is again at 0.
    mutating func settle() {
        for node in holder.chain {
            // Who is behind by more than the coarseness of the rounds could not use it: it is
            // others' by now.
            leads[node.depth] =
                node.bucket == nil
                ? 0
                : max(leads[node.depth] - node.contest.progress, -2 * node.contest.portion)
        }
    }

    /// Whether it has got more than others who wait under one of its limits. It has to keep its
    /// place then: who goes and comes again may not come first.
    var isAhead: Bool {
        holder.chain.contains {
            $0.bucket != nil && $0.contest.waitingCount > 0 && leads[$0.depth] > 0
        }
    }
}
