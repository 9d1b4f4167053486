internal import Diagnostics
internal import Files
internal import Glibc
internal import Loop
internal import Synchronization

/// Who gets what room there is on the disk: the store first, then its reserve, then everybody else
///
///
/// The disk is *short* from when the store has found it full until the reserve is whole again.
/// Meanwhile the store lives on the reserve, new work is refused, and bodies that are on their way
/// wait.
@LoopActor
final class DiskRoom {
    /// Where file threads ask before they write a part of a body.
    final class Gate: Sendable {
        private let isShut = Atomic(false)

        /// - Throws: what a full disk answers, while the room is the store's.
        func pass() throws {
            guard !isShut.load(ordering: .acquiring) else {
                throw FileError("pwrite", code: ENOSPC)
            }
        }

        fileprivate func set(shut: Bool) { isShut.store(shut, ordering: .releasing) }
    }

    private static let interval = Duration.seconds(1)

    private(set) var isShort = false
    /// Called when `isShort` changes.
    var onChange: (@LoopActor () -> Void)?
    /// Whether not even the reserve has room for the store: what comes free is left to it.
    var storeWaits = false {
        didSet { if !storeWaits { look() } }
    }
    let gate = Gate()
    let writeRetries = WriteRetries()

    private let reserve: (any Reserve)?
    /// How often the store was given room: what was found whole before is not.
    private var giftCount = 0
    private var isLooking = false
    private var hasFailed = false
    private lazy var timer = LoopTimer { [weak self] in self?.look() }
    private let log = Log("engine.room")

    /// Without a reserve, the disk is short while the store waits.
    init(reserve: (any Reserve)? = nil) { self.reserve = reserve }

    /// Makes the reserve, or what there is room for; then the disk is short from the start.
    func prepare() async {
        guard let reserve, await !refill(reserve) else { return }
        shut()
        timer.arm(after: DiskRoom.interval)
    }

    /// Gives the store room out of the reserve.
    /// - Returns: false where nothing is left of it.
    func give() async -> Bool {
        shut()
        giftCount += 1
        guard let reserve, await reserve.release() else { return false }
        if !timer.isArmed { timer.arm(after: DiskRoom.interval) }
        return true
    }

    /// Takes what room there is for the reserve: each second while the disk is short, and when
    /// something was removed.
    func look() {
        guard isShort, !storeWaits, !isLooking else { return }
        guard let reserve else { return open() }
        isLooking = true
        let count = giftCount
        LoopActor.start { [self] in
            let isWhole = await refill(reserve)
            isLooking = false
            if isWhole, count == giftCount, !storeWaits {
                open()
            } else {
                timer.arm(after: DiskRoom.interval)
            }
        }
    }

    private func refill(_ reserve: any Reserve) async -> Bool {
        do {
            return try await reserve.refill()
        } catch {
            if !hasFailed {
                log.write(
                    .warning, "no room can be kept for the store", ["error": .words("\(error)")])
            }
            hasFailed = true
            return true
        }
    }

    private func shut() {
        guard !isShort else { return }
        log.write(.error, "the disk is full: new work is refused until there is room")
        isShort = true
        gate.set(shut: true)
        writeRetries.isHeld = true
        onChange?()
    }

    private func open() {
        log.write(.notice, "the disk has room again")
        timer.cancel()
        isShort = false
        gate.set(shut: false)
        onChange?()
        writeRetries.isHeld = false
    }
}
