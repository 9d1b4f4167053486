internal import Syntax

/// Reads an event stream (WHATWG HTML §9.2.6) from pieces that may be cut anywhere.
///
/// A pure value: bytes in, events out. What follows the last blank line when the stream ends is no
/// event and is never given out. Start a new parser for a new connection, with the last event id.
public struct EventStreamParser: Sendable {
    /// An event that did not end within the limit.
    public struct TooLong: Error, Equatable {}

    /// The id that a reconnect names in `Last-Event-ID`; empty for none.
    public private(set) var lastEventID: String
    /// The last reconnection time that the stream set, in milliseconds.
    public private(set) var retryMilliseconds: Int64?

    private let byteLimit: Int
    private var line: [UInt8] = []
    /// Whether the last byte was a CR, so that a LF belongs to it.
    private var endedByReturn = false
    /// Until the first line is whole, it may begin with a byte order mark.
    private var isFirstLine = true
    private var idBuffer: String
    private var name = ""
    private var data: [UInt8] = []
    private var hasData = false
    private var hasID = false

    /// A parser at the beginning of a connection.
    ///
    /// `byteLimit` is how long an event, and a line, may become before the parser gives up.
    public init(lastEventID: String = "", byteLimit: Int = 16 << 20) {
        self.lastEventID = lastEventID
        idBuffer = lastEventID
        self.byteLimit = byteLimit
    }

    /// Takes the next piece and gives the events that it completes, in order.
    ///
    /// - Throws: `TooLong`; the parser is of no further use then.
    public mutating func feed(
        _ piece: some Sequence<UInt8>
    ) throws(TooLong) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in piece {
            let belongsToReturn = endedByReturn && byte == 0x0A
            endedByReturn = byte == 0x0D
            if belongsToReturn { continue }
            if byte == 0x0A || byte == 0x0D {
                if let event = endLine() { events.append(event) }
            } else {
                guard line.count + data.count < byteLimit else { throw TooLong() }
                line.append(byte)
            }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        var text = line[...]
        if isFirstLine {
            isFirstLine = false
            if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        }
        guard !text.isEmpty else { return dispatch() }
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else {
            take(field: text, value: [])
            return nil
        }
        // A line that begins with the colon is a comment.
        guard colon > text.startIndex else { return nil }
        var value = text[(colon + 1)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        take(field: text[..<colon], value: value)
        return nil
    }

    private mutating func take(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        switch String(decoding: field, as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(0x0A) }
            data += value
            hasData = true
        case "id" where !value.contains(0):
            idBuffer = String(decoding: value, as: UTF8.self)
            hasID = true
        case "retry" where !value.isEmpty && value.allSatisfy(Octets.isDigit):
            retryMilliseconds = Int64(String(decoding: value, as: UTF8.self)) ?? .max
        default: break
        }
    }

    /// A blank line. With no data line there is no event, but the id counts.
    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = idBuffer
        defer {
            name = ""
            data.removeAll(keepingCapacity: true)
            hasData = false
            hasID = false
        }
        guard hasData else { return nil }
        return ServerSentEvent(
            id: lastEventID, name: name.isEmpty ? "message" : name,
            data: String(decoding: data, as: UTF8.self), isNumbered: hasID)
    }
}
