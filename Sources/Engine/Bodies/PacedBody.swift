internal import Loop
internal import Semantics

/// A request's body as the transport pulls it: from memory, a file or the client, no faster than
/// the limits allow, and not while the task is suspended.
@LoopActor
final class PacedBody: BodySource {
    enum Feed {
        case bytes([UInt8])
        case file(FileFeed)
        case pipe(BodyPipe)
    }

    var onReady: (@LoopActor () -> Void)?
    /// Set while the task is suspended: nothing is given (S-18).
    var isHeld = false {
        didSet { if !isHeld { wake() } }
    }
    /// Whether it is not the network that is slow, but who gives the bytes (S-18).
    private(set) var isWaiting = false {
        didSet { if isWaiting != oldValue { LoopActor.later { [onWaiting] in onWaiting() } } }
    }

    private let feed: Feed
    private let bandwidth: Bandwidth
    private let meter: Meter
    private let onWaiting: @LoopActor () -> Void
    /// Bytes of `feed` in memory that were given.
    private var given = 0
    private var hasRefused = false

    /// - Parameters:
    ///   - feed: where the bytes come from.
    ///   - bandwidth: what they count against.
    ///   - onWaiting: called after `isWaiting` has changed, in the same turn of the loop.
    init(_ feed: Feed, within bandwidth: Bandwidth, onWaiting: @escaping @LoopActor () -> Void) {
        self.feed = feed
        self.bandwidth = bandwidth
        self.meter = Meter(bandwidth)
        self.onWaiting = onWaiting
        meter.onAllowance = { [weak self] in self?.wake() }
        switch feed {
        case .bytes: break
        case .file(let file):
            file.onReady = { [weak self] in self?.wake() }
        case .pipe(let pipe):
            pipe.begin()
            pipe.onReady = { [weak self] in self?.wake() }
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyPiece {
        if isHeld { return wait() }
        let available: Int
        switch feed {
        case .bytes(let bytes):
            guard given < bytes.count else { return .end }
            available = bytes.count - given
        case .file(let file):
            if let failure = file.failure { return .failed(.cannotRead("\(failure)")) }
            guard !file.isAtEnd else { return .end }
            if !bandwidth.isLimited, let count = file.readNow(into: buffer) {
                isWaiting = false
                return .bytes(count)
            }
            file.readAhead()
            available = file.available
        case .pipe(let pipe):
            if pipe.isAbandoned { return .failed(.bodyBrokeOff) }
            if pipe.available == 0, pipe.isFinished { return .end }
            available = pipe.available
        }
        let count = meter.take(min(available, buffer.count))
        guard count > 0 else { return wait() }
        isWaiting = false
        give(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
        return .bytes(count)
    }

    func rewind() -> Bool {
        switch feed {
        case .bytes: given = 0
        case .file(let file): file.rewind()
        case .pipe: return false
        }
        return true
    }

    /// The attempt is over.
    func close() {
        meter.close()
        onReady = nil
        switch feed {
        case .bytes: break
        case .file(let file): file.onReady = nil
        case .pipe(let pipe): pipe.onReady = nil
        }
    }

    private func give(_ buffer: UnsafeMutableRawBufferPointer) {
        switch feed {
        case .bytes(let bytes):
            bytes[given..<given + buffer.count].withUnsafeBytes { buffer.copyMemory(from: $0) }
            given += buffer.count
        case .file(let file): _ = file.read(into: buffer)
        case .pipe(let pipe): _ = pipe.read(into: buffer)
        }
    }

    private func wait() -> BodyPiece {
        hasRefused = true
        isWaiting = true
        return .wait
    }

    /// There may be more to give: whoever was refused asks again. Not from inside `read`: what
    /// wakes may be called by a feed that is being read.
    private func wake() {
        guard hasRefused, !isHeld else { return }
        hasRefused = false
        onReady?()
    }
}

extension TransferError {
    /// The client that was to send the body has left.
    fileprivate static let bodyBrokeOff = TransferError.url(
        .requestBodyStreamExhausted, message: "The client left before the body was over.")

    /// What is to be sent cannot be read from the gateway's disk; `words` are the system's.
    static func cannotRead(_ words: String) -> TransferError {
        .url(.cannotOpenFile, message: "What is to be sent cannot be read: \(words).")
    }
}
