/// What the requests of one connection of HTTP/2 take together, and those that wait for it.
struct StreamBudget {
    /// A request whose header is whole.
    typealias Request = (stream: HTTP2Stream, hasBody: Bool)

    /// Bytes of whole answers that wait for the client, or for each of those for whom it asks.
    private var held: [String?: Int] = [:]
    /// Bytes by which windows of streams have grown.
    private var windowGrowth = 0
    /// Requests that may have a file open: what is not answered yet, or piece by piece.
    private var running = 0
    private var waiting: [Request] = []
    /// Answered streams whose clients may still say something of the request.
    private var lingering: [Int32] = []
    private static let lingeringLimit = 16

    /// Whether a request may begin now; it waits for `next` otherwise.
    ///
    /// - Parameters:
    ///   - request: one whose header is whole.
    ///   - isShort: whether descriptors are scarce: then one request at a time runs on a
    ///     connection, as on one of HTTP/1.
    /// - Returns: whether it begins.
    mutating func admit(_ request: Request, isShort: Bool) -> Bool {
        if waiting.isEmpty, running == 0 || !isShort { return true }
        waiting.append(request)
        return false
    }

    /// The request that has waited for the longest time, where it may begin now.
    mutating func next(isShort: Bool) -> Request? {
        canGoOn(isShort: isShort) ? waiting.removeFirst() : nil
    }

    /// A stream is over: its request begins no more.
    mutating func forget(_ stream: HTTP2Stream) {
        if !waiting.isEmpty { waiting.removeAll { $0.stream === stream } }
    }

    /// Whether there is a request for `next`.
    func canGoOn(isShort: Bool) -> Bool { !waiting.isEmpty && (running == 0 || !isShort) }

    /// A stream lingers.
    /// - Returns: the one that has lingered longest, where that was one too many: it may be over
    ///   already.
    mutating func noteLingering(_ id: Int32) -> Int32? {
        lingering.append(id)
        return lingering.count > StreamBudget.lingeringLimit ? lingering.removeFirst() : nil
    }

    /// A request begins (1), or may have no file open any more (-1).
    mutating func changeRunning(by count: Int) { running += count }

    /// How many bytes of whole answers wait for one of those for whom the client asks; nil where it
    /// asks for itself.
    func heldBytes(for client: String?) -> Int { held[client] ?? 0 }

    /// So much more of whole answers waits, or less.
    mutating func changeHeld(by count: Int, for client: String?) {
        guard count != 0 else { return }
        let sum = heldBytes(for: client) + count
        held[client] = sum == 0 ? nil : sum
    }

    /// A stream wants its window to grow by so many bytes; whether it may.
    mutating func growWindow(by count: Int) -> Bool {
        guard windowGrowth + count <= HTTP2Session.windowGrowth else { return false }
        windowGrowth += count
        return true
    }

    /// A stream is over whose window had grown by so many bytes.
    mutating func returnWindow(_ count: Int) { windowGrowth -= count }
}
