internal import Engine
internal import HTTP
internal import Loop
internal import Semantics

/// The body of a request on its way to another node: pulled from the client as the node takes it,
/// so that at most 256 KiB of it wait here.
@LoopActor
final class ForwardedBody: BodySource {
    private static let limit = 256 << 10

    var onReady: (@LoopActor () -> Void)?
    /// Why the body has not come whole; nil while it may.
    private(set) var failure: BodyError?
    /// Whether something was asked of the client: nobody else can send the body any more.
    private(set) var isBegun = false

    private let body: RequestBody
    private var pieces: [ArraySlice<UInt8>] = []
    private var waiting = 0
    private var isWhole = false
    private var isUnwanted = false
    private var pump: CheckedContinuation<Void, Never>?

    init(_ body: RequestBody) { self.body = body }

    /// The node has answered: no more of the body is sent.
    func stop() {
        guard isBegun, !isWhole, failure == nil, !isUnwanted else { return }
        isUnwanted = true
        body.interrupt()
        pump.take()?.resume()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyPiece {
        begin()
        var filled = 0
        while filled < buffer.count, let piece = pieces.first {
            let count = min(piece.count, buffer.count - filled)
            piece.prefix(count).withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: $0)
            }
            filled += count
            if count < piece.count {
                pieces[0] = piece.dropFirst(count)
            } else {
                pieces.removeFirst()
            }
        }
        waiting -= filled
        if waiting < ForwardedBody.limit { pump.take()?.resume() }
        if filled > 0 { return .bytes(filled) }
        if failure != nil { return .failed(TransferError(.url(.networkConnectionLost))) }
        return isWhole ? .end : .wait
    }

    /// Its bytes are kept nowhere: it has a connection of its own, and is not asked.
    func rewind() -> Bool { !isBegun }

    private func begin() {
        guard !isBegun else { return }
        isBegun = true
        LoopActor.start { [self] in await fetch() }
    }

    private func fetch() async {
        do throws(BodyError) {
            while !isUnwanted, let piece = try await body.next() {
                waiting += piece.count
                pieces.append(piece[...])
                onReady?()
                while waiting >= ForwardedBody.limit, !isUnwanted {
                    await withCheckedContinuation { pump = $0 }
                }
            }
            isWhole = !isUnwanted
        } catch {
            if !isUnwanted { failure = error }
        }
        onReady?()
    }
}
