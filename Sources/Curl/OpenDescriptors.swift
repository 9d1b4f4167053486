internal import CCurl
internal import Files
internal import Loop

/// The descriptors that libcurl holds for all sessions: the sockets of connections, in use or kept,
/// and two of each multi handle's own.
///
/// Nobody is refused one here: the engine lets no more attempts run than there are descriptors for.
/// What these leave is for connections that are kept. Beyond the limit such are given up: those of
/// pools without attempts first, from the one that has rested longest, and then what pools with
/// attempts keep beside them.
@LoopActor
final class OpenDescriptors {
    /// Makes a socket for an address, or throws why there is none.
    typealias Opener = @LoopActor (WantedSocket) throws(FileError) -> CInt

    private struct Holder {
        weak var pool: CurlPool?
    }

    /// How many there are.
    private(set) var count = 0
    private let limit: Int
    private let opener: Opener
    /// The pools that have a multi handle.
    private var holders: [ObjectIdentifier: Holder] = [:]
    private var restCount: UInt64 = 0
    /// A descriptor could not be had, whatever the limit.
    private var isLacking = false
    private var isTrimming = false
    private lazy var timer = LoopTimer { [weak self] in self?.trim() }

    init(limit: Int, opener: @escaping Opener) {
        self.limit = limit
        self.opener = opener
    }

    // MARK: The count

    /// A socket for an address, which is counted until `noteClosed`.
    func make(_ wanted: WantedSocket) throws(FileError) -> CInt {
        let socket = try opener(wanted)
        noteOpened(1)
        return socket
    }

    func noteOpened(_ number: Int) {
        count += number
        if count > limit { trimSoon() }
    }

    func noteClosed(_ number: Int) { count -= number }

    // MARK: Pools

    /// A pool has made a multi handle.
    func join(_ pool: CurlPool) {
        holders[ObjectIdentifier(pool)] = Holder(pool: pool)
    }

    /// A pool has none any more.
    func leave(_ pool: ObjectIdentifier) { holders[pool] = nil }

    /// A number greater than those that were given before, for a pool that begins to rest.
    func nextRest() -> UInt64 {
        restCount += 1
        return restCount
    }

    // MARK: Giving up

    /// The process has no descriptor for what needs one: half of what can be given up goes.
    func areLacking() {
        isLacking = true
        trimSoon()
    }

    /// Not at once: libcurl may be on the stack.
    private func trimSoon() {
        guard !isTrimming else { return }
        isTrimming = true
        LoopActor.later { [self] in
            isTrimming = false
            trim()
        }
    }

    private func trim() {
        guard count > limit || isLacking else { return }
        // Some more than is needed, so that not every new connection looks for another one that
        // goes.
        let goal = min(limit - limit / 16, isLacking ? count / 2 : .max)
        isLacking = false
        let pools = holders.values.compactMap(\.pool)
        for pool in pools.filter(\.isResting).sorted(by: { $0.restNumber < $1.restNumber }) {
            guard count > goal else { return }
            pool.giveUpHandle()
        }
        guard count > goal else { return }
        let busy = pools.filter { !$0.isResting && $0.keptConnectionCount > 0 }
        for pool in busy { pool.giveUpKept() }
        // What has been used a moment ago goes later.
        if !busy.isEmpty { timer.arm(after: .seconds(1)) }
    }
}
