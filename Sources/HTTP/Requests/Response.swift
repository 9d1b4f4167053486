public import Loop

/// The answer to a request.
///
/// The server itself adds Date, Connection, Content-Length or Transfer-Encoding; it leaves out the
/// body in answers to HEAD and those of status 204 and 304.
public struct Response {
    /// The status, 200…599.
    public var status: Int
    /// The fields, but those that the server adds. Control characters in a value become spaces.
    public var headers: HeaderFields
    /// What follows the header.
    public var body: ResponseBody

    /// Makes an answer.
    public init(
        status: Int, headers: HeaderFields = HeaderFields(), body: ResponseBody = .empty
    ) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The body of an answer.
public enum ResponseBody {
    /// No byte.
    case empty
    /// All bytes at once.
    case bytes([UInt8])
    /// Bytes that are pulled as the client takes them; `nil` when their number is not known.
    case source(any ByteSource, length: Int64?)
    /// An event stream, which lasts until its log is finished or one of the two goes.
    case events(EventSubscription)
}

/// Bytes in pieces, pulled while less than `ServerLimits.answerAhead` waits to be sent.
@LoopActor
public protocol ByteSource: AnyObject {
    /// The next piece, of any size; 64 to 256 KiB cost least. `nil` is the end.
    ///
    /// A throw cuts the answer: it then ends without its last chunk, or short of its length, so
    /// that the client sees that it is not whole.
    func next() async throws -> [UInt8]?

    /// The client has gone, or wants no body: called at most once, possibly while `next` waits, and
    /// nothing is asked for afterwards.
    func cancel()

    /// Whether the bytes are a stream of events, which may go on for days.
    var isEventStream: Bool { get }

    /// The server is about to stop: what may go on for days ends soon.
    func drain()
}

extension ByteSource {
    /// No, unless the source says so.
    public var isEventStream: Bool { false }

    /// Nothing ends, unless the source sees to it.
    public func drain() {}
}
