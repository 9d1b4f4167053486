import Synchronization

/// One server-sent event (WHATWG HTML §9.2.6).
public struct ServerEvent: Sendable {
    /// The id of this very event; nil where it had no `id:` line.
    public let id: String?
    /// The type; `message` where none was named.
    public let event: String
    /// The data lines, joined by LF.
    public let data: String

    /// The data as JSON; `.null` where it is none.
    public var json: TestJSON { (try? TestJSON(parsing: data)) ?? .null }
}

/// Reads an event stream on a thread of its own and keeps every event.
public final class EventStreamReader: Sendable {
    /// The answer's head; where its status is not 200 there are no events.
    public let head: ResponseHead
    private let stream: ResponseStream
    private let record = EventRecord()
    private let position = Mutex(0)

    init(_ stream: ResponseStream) {
        self.stream = stream
        head = stream.head
        let record = record
        startThread("event stream") {
            var parser = EventStreamParser()
            var endedProperly = false
            do {
                while case let piece = try stream.nextHere(), !piece.isEmpty {
                    parser.take(piece, into: record)
                }
                endedProperly = true
            } catch {}
            record.state.withLock {
                $0.isClosed = true
                $0.endedProperly = endedProperly
            }
        }
    }

    deinit {
        stream.close()
    }

    /// Every event so far.
    public var events: [ServerEvent] { record.state.withLock(\.events) }

    /// The names of every event so far.
    public var names: [String] { events.map(\.event) }

    /// The comment lines so far, without their colon.
    public var comments: [String] { record.state.withLock(\.comments) }

    /// The last `retry:` value, in milliseconds.
    public var retry: Int? { record.state.withLock(\.retry) }

    /// Whether the server has ended the stream.
    public var isClosed: Bool { record.state.withLock(\.isClosed) }

    /// Whether it ended with its last chunk, and not by a cut.
    public var endedProperly: Bool { record.state.withLock(\.endedProperly) }

    /// The next event that no call of `next` or `collect` has given yet.
    ///
    /// - Throws: `DeadlinePassed`; at once when the stream has ended and none is left.
    public func next(within limit: Duration = .patience) async throws -> ServerEvent {
        let index = position.withLock { $0 }
        try? await eventually(within: limit) {
            record.state.withLock { $0.events.count > index || $0.isClosed }
        }
        let events = events
        guard events.indices.contains(index) else {
            throw DeadlinePassed("the next event after \(events.suffix(20).map(\.event))", limit)
        }
        position.withLock { $0 = index + 1 }
        return events[index]
    }

    /// The next events up to and with the first that has this name.
    ///
    /// - Throws: `DeadlinePassed`.
    @discardableResult
    public func collect(
        until name: String, within limit: Duration = .patience
    ) async throws -> [ServerEvent] {
        try await collect(within: limit) { $0.event == name }
    }

    /// The next events up to and with the first that satisfies `condition`.
    ///
    /// - Throws: `DeadlinePassed`.
    @discardableResult
    public func collect(
        within limit: Duration = .patience, until condition: (ServerEvent) -> Bool
    ) async throws -> [ServerEvent] {
        let deadline = Deadline(after: limit)
        var collected: [ServerEvent] = []
        while true {
            let left = Duration.milliseconds(Int(deadline.millisecondsLeft))
            let event = try await next(within: left)
            collected.append(event)
            if condition(event) { return collected }
        }
    }

    /// Waits for the server to end the stream, and gives every event.
    ///
    /// - Throws: `DeadlinePassed`.
    @discardableResult
    public func waitForEnd(within limit: Duration = .patience) async throws -> [ServerEvent] {
        try await eventually(within: limit, "the end of the event stream") { isClosed }
        return events
    }

    /// Leaves: closes the connection.
    public func close() {
        stream.close()
    }
}

/// What has been read of a stream; shared with the reading thread.
private final class EventRecord: Sendable {
    struct State {
        var events: [ServerEvent] = []
        var comments: [String] = []
        var retry: Int?
        var isClosed = false
        var endedProperly = false
    }

    let state = Mutex(State())
}

/// Cuts a stream into lines and lines into events.
private struct EventStreamParser {
    private var line: [UInt8] = []
    private var id: String?
    private var name = ""
    private var data: [String] = []

    mutating func take(_ bytes: [UInt8], into record: EventRecord) {
        for byte in bytes {
            if byte != UInt8(ascii: "\n") {
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            finish(line: String(decoding: line, as: UTF8.self), into: record)
            line.removeAll(keepingCapacity: true)
        }
    }

    private mutating func finish(line: String, into record: EventRecord) {
        if line.isEmpty { return dispatch(into: record) }
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? parts[1] : ""
        if value.first == " " { value = value.dropFirst() }
        switch parts[0] {
        case "": record.state.withLock { $0.comments.append(String(value)) }
        case "id": id = String(value)
        case "event": name = String(value)
        case "data": data.append(String(value))
        case "retry": record.state.withLock { $0.retry = Int(value) }
        default: break
        }
    }

    private mutating func dispatch(into record: EventRecord) {
        if !data.isEmpty {
            let event = ServerEvent(
                id: id, event: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
            record.state.withLock { $0.events.append(event) }
        }
        id = nil
        name = ""
        data = []
    }
}
