internal import HTTP
internal import Loop

/// The body of a request on its way to another node: pulled from the client as the node takes it.
@LoopActor
final class ForwardedBody {
    /// Why the body has not come whole; nil while it may.
    private(set) var failure: BodyError?
    /// Whether something was asked of the client: nobody else can send the body any more.
    private(set) var isBegun = false

    private let body: RequestBody
    private var isWhole = false
    private var isUnwanted = false
    private var pump: CheckedContinuation<Void, Never>?

    init(_ body: RequestBody) { self.body = body }

    /// Begins to send the body; once is enough.
    ///
    /// - Parameters:
    ///   - stream: takes it.
    ///   - onFailure: called where it does not come whole.
    func begin(on stream: OutgoingStream, onFailure: @escaping @LoopActor () -> Void) {
        guard !isBegun else { return }
        isBegun = true
        LoopActor.start { [self] in await send(on: stream, onFailure) }
    }

    /// There may be room for more.
    func goOn() { pump.take()?.resume() }

    /// The node has answered, or will not: no more of the body is sent.
    func stop() {
        guard isBegun, !isWhole, failure == nil, !isUnwanted else { return }
        isUnwanted = true
        body.interrupt()
        goOn()
    }

    private func send(
        on stream: OutgoingStream, _ onFailure: @LoopActor () -> Void
    ) async {
        do throws(BodyError) {
            while !isUnwanted, let piece = try await body.next() {
                stream.send(piece)
                while !stream.hasRoom, !isUnwanted {
                    await withCheckedContinuation { pump = $0 }
                }
            }
            guard !isUnwanted else { return }
            isWhole = true
            stream.endBody()
        } catch {
            guard !isUnwanted else { return }
            failure = error
            onFailure()
        }
    }
}
