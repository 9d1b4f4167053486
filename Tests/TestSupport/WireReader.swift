/// The peer's bytes were not HTTP, or ended in the middle.
public struct MalformedMessage: Error, CustomStringConvertible {
    /// What was wrong.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Takes lines, blocks and HTTP bodies from a socket; used by one thread.
final class WireReader {
    let socket: Socket
    var deadline: Deadline?
    private var buffer: [UInt8] = []
    private var start = 0
    /// The body being read, where one reader serves one message.
    var body = BodyReader(.none)

    init(_ socket: Socket) {
        self.socket = socket
    }

    /// The next bytes, at most `limit`; empty at the end of the stream.
    func some(upTo limit: Int = 65536) throws -> [UInt8] {
        if start == buffer.count, try !fill() { return [] }
        let end = min(buffer.count, start + limit)
        defer { start = end }
        return Array(buffer[start..<end])
    }

    /// Exactly `count` bytes.
    ///
    /// - Throws: `MalformedMessage` when the stream ends before.
    func exactly(_ count: Int) throws -> [UInt8] {
        var taken: [UInt8] = []
        taken.reserveCapacity(count)
        while taken.count < count {
            let piece = try some(upTo: count - taken.count)
            guard !piece.isEmpty else {
                throw MalformedMessage("ended after \(taken.count) of \(count) bytes")
            }
            taken += piece
        }
        return taken
    }

    /// One line without its LF or CR LF; nil at the end of the stream.
    func line() throws -> String? {
        var scanned = start
        while true {
            if let end = buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                let hasReturn = end > start && buffer[end - 1] == UInt8(ascii: "\r")
                return String(decoding: buffer[start..<(hasReturn ? end - 1 : end)], as: UTF8.self)
            }
            let unread = buffer.count - start
            guard unread < 8 << 20 else { throw MalformedMessage("a line of over 8 MiB") }
            guard try fill() else {
                guard unread == 0 else { throw MalformedMessage("ended inside a line") }
                return nil
            }
            scanned = start + unread
        }
    }

    /// Header lines up to and with the empty one.
    func headerLines() throws -> HeaderLines {
        var headers = HeaderLines()
        while let line = try line() {
            if line.isEmpty { return headers }
            headers.append(line: Substring(line))
        }
        throw MalformedMessage("ended inside the header")
    }

    private func fill() throws -> Bool {
        let more = try socket.receive(by: deadline)
        if start == buffer.count {
            buffer = more
        } else {
            buffer.removeFirst(start)
            buffer += more
        }
        start = 0
        return !more.isEmpty
    }
}
