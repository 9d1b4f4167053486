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
    /// Bytes of `feed` that were given.
    private var given: Int64 = 0
    /// Bytes of the body; nil where that is not known.
    private let length: Int64?
    /// Whoever was told to wait has to be told to ask again.
    private var owesWake = false

    /// - Parameters:
    ///   - feed: where the bytes come from.
    ///   - length: bytes of the body; nil where that is not known.
    ///   - bandwidth: what they count against.
    ///   - onWaiting: called after `isWaiting` has changed, in the same turn of the loop.
    init(
        _ feed: Feed, length: Int64?, within bandwidth: Bandwidth,
        onWaiting: @escaping @LoopActor () -> Void
    ) {
        self.feed = feed
        self.length = length
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
            available = bytes.count - Int(given)
        case .file(let file):
            if let failure = file.failure { return .failed(.cannotRead("\(failure)")) }
            guard !file.isAtEnd else { return .end }
            if !bandwidth.isLimited, let count = file.readNow(into: buffer) {
                isWaiting = false
                given += Int64(count)
                return .bytes(count)
            }
            file.readAhead()
            available = file.available
        case .pipe(let pipe):
            if pipe.isRefused { return stop() }
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
        case .bytes: break
        case .file(let file): file.rewind()
        case .pipe: return false
        }
        given = 0
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
        let count: Int
        switch feed {
        case .bytes(let bytes):
            bytes[Int(given)...].prefix(buffer.count).withUnsafeBytes {
                buffer.copyMemory(from: $0)
            }
            count = buffer.count
        case .file(let file): count = file.read(into: buffer)
        case .pipe(let pipe): count = pipe.read(into: buffer)
        }
        // Whoever asked sends all of the buffer, whatever it had there before.
        precondition(count == buffer.count, "a feed gives what it says that it has")
        given += Int64(count)
    }

    /// Nothing now. Where the whole body has been given, nobody waits for more of it: whoever asks
    /// only wants to know that there is none.
    private func wait() -> BodyPiece {
        owesWake = true
        isWaiting = isHeld || given != length
        return .wait
    }

    /// Nothing any more, of a body that is not wanted to its end: the end of the response is the
    /// attempt's too.
    private func stop() -> BodyPiece {
        isWaiting = false
        return .wait
    }

    /// There may be more to give: whoever was told to wait asks again. Not from inside `read`: what
    /// wakes may be called by a feed that is being read.
    private func wake() {
        guard owesWake, !isHeld else { return }
        owesWake = false
        onReady?()
    }

    /// The origin has answered, or does not want the rest: nobody waits for it any more.
    func refuse() {
        if case .pipe(let pipe) = feed, pipe.isRefused { isWaiting = false }
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
