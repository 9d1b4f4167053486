internal import Loop

/// The body of an answer that is sent piece by piece.
@LoopActor
struct AnswerStream {
    private enum Origin {
        case none
        case source(any ByteSource)
        case events(EventReader)
    }

    private let origin: Origin
    /// The pump of a source, waiting for room in the wire.
    private var roomWaiter: CheckedContinuation<Void, Never>?

    /// An answer without one.
    init() { origin = .none }

    /// Bytes that are pulled out of a source.
    init(_ source: any ByteSource) { origin = .source(source) }

    /// Events, which are sent as they come.
    init(_ events: EventReader) { origin = .events(events) }

    /// The reader of events, if it is one.
    var events: EventReader? {
        if case .events(let reader) = origin { reader } else { nil }
    }

    /// Whether it is a stream of events, of this server or of another one.
    var isEventStream: Bool {
        switch origin {
        case .none: false
        case .source(let source): source.isEventStream
        case .events: true
        }
    }

    /// The pump waits for room in the wire.
    mutating func wait(_ pump: CheckedContinuation<Void, Never>) { roomWaiter = pump }

    /// There is room.
    mutating func outputHasDrained() { roomWaiter.take()?.resume() }

    /// The server is about to stop: what may go on for days ends.
    func drain() {
        switch origin {
        case .none: break
        case .source(let source): source.drain()
        case .events(let reader): reader.end()
        }
    }

    /// Nothing more is sent of it: a source is told so, and a pump goes on to see it.
    func cancel() {
        switch origin {
        case .none: break
        case .source(let source): source.cancel()
        case .events(let reader): reader.cancel()
        }
        roomWaiter?.resume()
    }
}
