internal import Diagnostics
internal import Files
internal import Loop
internal import Semantics

/// The bytes of one request on their way into a staged file. A file has at most one at a time.
///
/// While bytes come, what the disk has taken becomes durable once a second: first the bytes, then
/// their number. So a crash costs a second of an upload, and no offset that a client has heard of
/// is ever taken back.
@LoopActor
final class FileUpload {
    private enum Disk {
        case sound
        /// What was written since the last checkpoint is lost: a sync that failed is not tried
        /// again. But of a disk that had no room for a block, `taken` bytes from the
        /// first on are there once they are synced.
        case failed(taken: Int64?)
    }

    private enum Phase {
        case taking, ending
        /// All is done but what waits for room in the store.
        case parked
        case ended
    }

    /// How a file that has come whole gets to its place.
    private enum Put {
        case notBegun, underWay
        /// Nobody waits for it.
        case givenUp
    }

    /// The time between two checkpoints, and between two looks whether the disk is full.
    private static let interval = Duration.seconds(1)

    /// The file with what is there for good.
    private(set) var file: StagedFile
    private var phase = Phase.taking
    /// Whether the store is going to have the file's newest form when there is room again.
    private var isOwed = false
    /// Why nothing more is taken.
    private var failure: GatewayError?

    private let staged: StagedFiles
    private let clock: KeptClock
    private let onEnd: @LoopActor () -> Void
    private let feed: ByteFeed
    private let spool: ContentSpool
    private var disk = Disk.sound
    private var isCheckpointing = false
    private var put = Put.notBegun
    /// Whether bytes have to wait for a checkpoint that writes less than a whole block.
    private var isSettling = false
    private var waiters = Waiters()
    private lazy var timer = LoopTimer { [weak self] in self?.look() }
    private static let log = Log("engine.files")

    /// An upload that goes on behind the file's `length` bytes. `onEnd` is called once nothing more
    /// becomes of the file by it.
    init(
        _ file: StagedFile, from feed: ByteFeed, to staged: StagedFiles, clock: KeptClock,
        spools: Spools, onEnd: @escaping @LoopActor () -> Void
    ) {
        self.file = file
        self.feed = feed
        self.staged = staged
        self.clock = clock
        self.onEnd = onEnd
        spool = FileUpload.makeSpool(file, spools)
        spool.onRoom = { [weak self] in self?.waiters.wakeAll() }
        spool.onFailure = { [weak self] error in
            if let self { diskFailed(error, taken: spool.writtenLength) }
        }
    }

    /// Whether it has ended in a state that waits for room in the store.
    var isParked: Bool { phase == .parked }

    private var isEnding: Bool { phase != .taking }

    /// Takes all bytes of the feed; what comes before an error stays.
    ///
    /// - Parameter completes: whether they are the last ones of the file.
    /// - Throws: what the feed throws, or why nothing more was taken.
    func run(completes: Bool) async throws {
        do {
            try await goOn()
        } catch {
            diskFailed(error)
        }
        do {
            while failure == nil, let bytes = try await feed.next() { try await write(bytes) }
        } catch {
            await end()
            throw failure ?? error
        }
        if completes, failure == nil {
            await complete()
        } else {
            await end()
        }
        if let failure { throw failure }
    }

    // MARK: Taking bytes

    private func write(_ bytes: [UInt8]) async throws(GatewayError) {
        while failure == nil, isSettling || !spool.hasRoom() { await change() }
        if let failure { throw failure }
        let end = spool.length + Int64(bytes.count)
        if let announced = file.announcedLength, end > announced {
            throw .inconsistentLength(announced: announced)
        }
        try staged.requireSize(end)
        try staged.raise(file.id, to: end)
        bytes.withUnsafeBytes { spool.append($0) }
        if !timer.isArmed { timer.arm(after: FileUpload.interval) }
    }

    private func look() {
        if spool.isWaitingForRoom {
            spool.close(isBroken: true)  // what waits for room fails, and tells `diskFailed`
            return
        }
        timer.arm(after: FileUpload.interval)
        guard !isEnding, !isCheckpointing else { return }
        isCheckpointing = true
        LoopActor.start { [self] in
            await checkpoint()
            isCheckpointing = false
            if !isEnding, spool.length == file.length { timer.cancel() }
            waiters.wakeAll()
        }
    }

    private func goOn() async throws {
        if file.length == 0 {
            spool.moveToDisk()
        } else {
            try await spool.goOn()
        }
    }

    private static func makeSpool(_ file: StagedFile, _ spools: Spools) -> ContentSpool {
        let digest = file.expectedDigest.map { spools.makeDigest($0.algorithm) }
        guard file.length > 0 else {
            return spools.makeSpool(for: .file(file.id), digest: digest)
        }
        // The digest is taken at the end, of the whole file.
        return spools.goOn(
            with: spools.part(of: .file(file.id)), length: file.length, digest: digest)
    }

    // MARK: What is there for good

    /// Makes durable what the disk has. Of a client so slow that no block has become full, what is
    /// in memory is written.
    private func checkpoint() async {
        do {
            let written = spool.writtenLength
            if written > file.length {
                try await spool.sync()
                await keep(length: written)
            } else if spool.length > file.length {
                isSettling = true
                defer { isSettling = false }
                try await spool.settle()
                await keep(length: spool.length)
                if failure == nil { try await spool.goOn() }
            }
        } catch {
            diskFailed(error)
        }
    }

    /// Records that so many bytes are there; returns when the store has it, or has no room.
    private func keep(length: Int64, isComplete: Bool = false) async {
        var next = file
        next.length = length
        next.isComplete = isComplete
        if isComplete { next.series = spool.series }
        next.usedAt = clock.now
        if await staged.save(next) {
            file = next
            isOwed = false
        } else {
            isOwed = true
            stop(.diskFull)
        }
    }

    /// The disk has failed. Where it had no room for a block, `taken` says what it has taken
    /// before.
    private func diskFailed(_ error: any Error, taken: Int64? = nil) {
        let error = error as? FileError ?? FileError("upload", code: 0)
        let isOfSync = error.operation == "fdatasync"
        if case .failed = disk, !isOfSync { return }
        disk = .failed(taken: error.isOutOfSpace && !isOfSync ? taken : nil)
        if !error.isOutOfSpace {
            FileUpload.log.write(
                .error, "a staged file cannot be written",
                ["file": .name("\(file.id)"), "error": .words("\(error)")])
        }
        stop(error.isOutOfSpace ? .diskFull : .store(.failed("\(error)")))
    }

    // MARK: The end

    /// Takes nothing more; returns when what has come is there for good, or what the disk has taken
    /// of it.
    ///
    /// - Parameter reason: what the request that brings the bytes is told, where another one ends
    ///   it.
    func end(_ reason: GatewayError? = nil) async {
        if let reason, !isEnding { refuse(reason) }
        await wrapUp { [self] in
            try await spool.settle()
            await keep(length: spool.length)
        }
    }

    /// As `end`, for a tenant that leaves this node: a file that has come whole, and is on its way
    /// to its place, stays a part, with which the next node goes on.
    func giveUp() async {
        let isUnderWay = put == .underWay
        put = .givenUp
        refuse(.uploadSuperseded)
        if isUnderWay {
            spool.close(isBroken: true)
            staged.giveUpPut(of: file.id)
        }
        await end()
    }

    /// Returns when a file that is on its way to its place is there, or after `limit`.
    func completion(within limit: Duration) async {
        var isTimeUp = false
        let timer = LoopTimer { [weak self] in
            isTimeUp = true
            self?.waiters.wakeAll()
        }
        timer.arm(after: limit)
        defer { timer.cancel() }
        while put == .underWay, !isTimeUp { await change() }
    }

    /// All bytes have come: the file is complete, unless it is not what it was to be.
    private func complete() async {
        if let announced = file.announcedLength, spool.length != announced {
            refuse(.inconsistentLength(announced: announced))
            return await end()
        }
        await wrapUp { [self] in
            guard let (_, digest) = try await finish() else {
                try await spool.settle()
                return await keep(length: spool.length)
            }
            if let expected = file.expectedDigest, digest != expected.bytes {
                refuse(.digestMismatch(expected: expected))
                await staged.forget(file.id)
                spool.discardFile()  // what was put, which no record tells of
            } else {
                await keep(length: spool.length, isComplete: true)
                staged.forgetPart(of: file.id)
            }
        }
    }

    /// Puts the file into its place.
    ///
    /// - Returns: nil where that was given up.
    private func finish() async throws -> (bytes: [UInt8]?, digest: [UInt8]?)? {
        guard put != .givenUp else { return nil }
        put = .underWay
        defer { if put == .underWay { put = .notBegun } }
        do {
            return try await spool.finish()
        } catch  where put == .givenUp {
            return nil
        }
    }

    /// Ends by itself, for a reason of the gateway's own.
    private func stop(_ reason: GatewayError) {
        refuse(reason)
        LoopActor.start { [self] in await end() }
    }

    /// Takes nothing more.
    private func refuse(_ reason: GatewayError) {
        guard failure == nil else { return }
        failure = reason
        feed.interrupt()
        waiters.wakeAll()
    }

    private func wrapUp(_ settle: @LoopActor () async throws -> Void) async {
        guard !isEnding else {
            while phase == .ending { await change() }
            return
        }
        phase = .ending
        while isCheckpointing { await change() }
        timer.arm(after: FileUpload.interval)
        if case .sound = disk {
            do {
                try await settle()
            } catch {
                diskFailed(error)
            }
        }
        await salvage()
        timer.cancel()
        spool.close()
        leave()
    }

    /// Keeps of what has come what a failed disk has of it. Nothing is written to the file
    /// afterwards.
    private func salvage() async {
        guard case .failed(let taken) = disk else { return }
        do {
            try await spool.salvage(syncs: taken != nil)
            if let taken { await keep(length: max(taken, file.length)) }
        } catch {
            FileUpload.log.write(
                .error, "a part of a staged file is lost",
                ["file": .name("\(file.id)"), "error": .words("\(error)")])
        }
    }

    private func leave() {
        guard isOwed else {
            phase = .ended
            onEnd()
            return waiters.wakeAll()
        }
        phase = .parked
        waiters.wakeAll()
        LoopActor.start { [self] in
            await staged.durable()
            phase = .ended
            onEnd()
            waiters.wakeAll()
        }
    }

    // MARK: Waiting

    private func change() async {
        await withCheckedContinuation { waiters.add($0) }
    }
}

extension ContentSpool {
    /// The bytes from the first on that the disk has taken.
    fileprivate var writtenLength: Int64 {
        guard let first = written(of: [0..<length]).first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }
}
