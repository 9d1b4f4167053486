import Curl
import Engine
import Loop
import Semantics
import TestSupport

/// A body of `Pattern` that gives what its test lets it give, and counts who asks.
@LoopActor
final class PatternSource: BodySource {
    var onReady: (@LoopActor () -> Void)?
    /// How many bytes it has.
    let total: Int
    /// How many of them it may give by now; then it has to wait.
    private(set) var limit: Int
    /// The most that it gives at once.
    var pieceLimit = Int.max
    /// Fails, when all that it may give is given.
    var failure: TransferError?
    var canRewind = true

    private(set) var given = 0
    private(set) var reads = 0
    private(set) var waits = 0
    private(set) var rewinds = 0
    /// The largest room that it was offered.
    private(set) var largestRoom = 0

    init(_ total: Int, limit: Int = .max) {
        self.total = total
        self.limit = min(limit, total)
    }

    /// Lets it give so many bytes in all, and says so.
    func allow(_ limit: Int = .max) {
        self.limit = min(limit, total)
        onReady?()
    }

    /// Fails now, or as soon as it is asked.
    func fail(_ error: TransferError) {
        failure = error
        onReady?()
    }

    /// Counts waits from here.
    func resetWaits() { waits = 0 }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyPiece {
        reads += 1
        largestRoom = max(largestRoom, buffer.count)
        let count = min(buffer.count, limit - given, pieceLimit)
        if count > 0 {
            buffer.copyBytes(from: Pattern.bytes(from: given, count: count))
            given += count
            return .bytes(count)
        }
        if let failure { return .failed(failure) }
        if given == total { return .end }
        waits += 1
        return .wait
    }

    func rewind() -> Bool {
        rewinds += 1
        guard canRewind else { return false }
        given = 0
        return true
    }
}

extension Network {
    /// Starts an attempt with a body that is pulled.
    func upload(
        _ source: any BodySource, length: Int?, to url: String, method: String = "PUT",
        isFresh: Bool = false, mayPause: Bool = true, prepare: (Probe) -> Void = { _ in }
    ) throws -> Probe {
        let probe = Probe()
        prepare(probe)
        var request = AttemptRequest(
            url: try transport.parse(url), method: method, headers: [:],
            body: .source(source, length: length.map(Int64.init)), decodesContent: false,
            priority: 0.5, mayPause: mayPause)
        request.usesFreshConnection = isFresh
        probe.attempt = pool.start(request, observer: probe)
        return probe
    }
}
