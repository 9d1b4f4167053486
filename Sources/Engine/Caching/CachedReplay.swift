internal import Files
internal import Glibc
internal import Loop
internal import Semantics

/// A stored response on its way to the one who asked, told as an attempt on the wire is: so that
/// all that may happen to a response, decisions, pauses, another observer, happens to this one too.
/// Its head is told once there is something of its content: where nothing of that can be read, the
/// attempt ends without an answer.
@LoopActor
final class CachedReplay: Attempt {
    private static let pieceLength = 64 << 10
    private static let readLength = 256 << 10

    private let head: ResponseHead
    private let content: CachedContent
    private let clock: any Clock
    private let onFailure: @LoopActor (FileError, _ isBegun: Bool) -> Void
    private var observer: (any AttemptObserver)?
    private var metrics: TransactionMetrics
    private var isPaused = false
    private var isHeadTold = false
    private var isHeadTaken = false
    private var isRunning = false
    /// What is delivered next, in the content.
    private var offset: Int64
    private let end: Int64
    /// What was read of a file and not taken yet; it ends where `offset` and it together say.
    private var block: ArraySlice<UInt8> = []

    /// Begins on a later turn of the loop.
    ///
    /// - Parameters:
    ///   - answer: the head, and which part of the content.
    ///   - head: the answer's, as it is delivered.
    ///   - content: the stored response's.
    ///   - request: URL and method, for the metrics.
    ///   - clock: tells the metrics when.
    ///   - observer: is held until the end.
    ///   - onFailure: hears why the content cannot be read, and whether the head was told by then,
    ///     before the observer hears of the end.
    init(
        _ answer: CachedAnswer, _ head: ResponseHead, _ content: CachedContent,
        to request: RequestRecord, clock: any Clock, observer: any AttemptObserver,
        onFailure: @escaping @LoopActor (FileError, _ isBegun: Bool) -> Void
    ) {
        self.onFailure = onFailure
        self.head = head
        self.content = content
        self.clock = clock
        self.observer = observer
        offset = answer.content.lowerBound
        end = answer.content.upperBound
        metrics = TransactionMetrics()
        metrics.url = request.url.string
        metrics.method = request.method
        metrics.resourceFetchType = .localCache
        metrics.status = head.status
        metrics.fetchStart = clock.now.microseconds
        goOn()
    }

    func pause() { isPaused = true }

    func resume() {
        guard isPaused else { return }
        isPaused = false
        goOn()
    }

    func handOver(to observer: any AttemptObserver) {
        if self.observer != nil { self.observer = observer }
    }

    func cancel() -> TransactionMetrics {
        observer = nil
        return metrics
    }

    private func goOn() {
        guard !isRunning else { return }
        isRunning = true
        LoopActor.later { [self] in
            isRunning = false
            deliver()
        }
    }

    /// Delivers a piece, and leaves the loop to others before the next one.
    private func deliver() {
        guard !isPaused, let observer else { return }
        guard isHeadTaken else {
            if case .file(let file) = content, block.isEmpty, offset < end { return read(file) }
            metrics.responseStart = metrics.responseStart ?? clock.now.microseconds
            isHeadTold = true
            switch observer.attemptDidReceive(head) {
            case .proceed:
                isHeadTaken = true
                // The most are small: one turn is enough.
                deliver()
            case .stop: finish(nil)
            case .pause, .take: isPaused = true
            }
            return
        }
        guard offset < end else { return finish(nil) }
        switch content {
        case .bytes(let bytes):
            let stop = min(end, offset + Int64(Self.pieceLength))
            deliver(bytes[Int(offset)..<Int(stop)], to: observer)
        case .file(let file):
            if block.isEmpty { read(file) } else { deliver(block, to: observer) }
        }
    }

    private func deliver(_ bytes: ArraySlice<UInt8>, to observer: any AttemptObserver) {
        let verdict = bytes.withUnsafeBytes { observer.attemptDidReceive($0) }
        let taken =
            switch verdict {
            case .proceed, .stop: bytes.count
            case .pause: 0
            case .take(let count): count
            }
        offset += Int64(taken)
        if !block.isEmpty { block = block.dropFirst(taken) }
        switch verdict {
        case .stop: finish(nil)
        case .pause, .take: isPaused = true
        case .proceed where offset == end: finish(nil)
        case .proceed: goOn()
        }
    }

    private func read(_ file: any OpenContent) {
        let (start, count) = (offset, Int(min(end - offset, Int64(Self.readLength))))
        isRunning = true
        LoopActor.start { [self] in
            do {
                let bytes = try await file.read(at: start, count: count)
                guard !bytes.isEmpty else { throw FileError("pread", code: 0) }
                block = bytes[...]
                isRunning = false
                deliver()
            } catch {
                isRunning = false
                fail(error as? FileError ?? FileError("pread", code: EIO))
            }
        }
    }

    private func fail(_ error: FileError) {
        guard observer != nil else { return }
        onFailure(error, isHeadTold)
        let message = "The stored response cannot be read any more"
        guard error.code != 0 else {
            return finish(.url(.cannotOpenFile, message: "\(message): it is shorter than it was."))
        }
        finish(
            .url(
                .cannotOpenFile, message: "\(message): \(error.words).",
                underlying: .init(layer: .system, code: Int(error.code), message: error.words)))
    }

    private func finish(_ error: TransferError?) {
        guard let observer else { return }
        self.observer = nil
        metrics.responseEnd = clock.now.microseconds
        observer.attemptDidEnd(
            AttemptEnd(error: error, metrics: metrics, lengthVerified: true))
    }
}

extension Timestamp {
    /// Since 1970, as metrics count.
    fileprivate var microseconds: Int64 { milliseconds * 1000 }
}
