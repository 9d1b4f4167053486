import Testing

@testable import Client

/// WHATWG HTML §9.2.6, as a table: what the stream is, and what comes out of it.
struct EventStreamParserTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let stream: [UInt8]
        let events: [ServerSentEvent]
        var lastEventID = ""
        var retry: Int64?

        init(
            _ description: String, _ stream: String, _ events: [ServerSentEvent],
            lastEventID: String = "", retry: Int64? = nil
        ) {
            testDescription = description
            self.stream = Array(stream.utf8)
            self.events = events
            self.lastEventID = lastEventID
            self.retry = retry
        }
    }

    static func event(
        _ data: String, name: String = "message", id: String = "", isNumbered: Bool = false
    ) -> ServerSentEvent {
        ServerSentEvent(id: id, name: name, data: data, isNumbered: isNumbered)
    }

    static let cases: [Case] = [
        Case("nothing", "", []),
        Case("one event", "data: a\n\n", [event("a")]),
        Case("no space behind the colon", "data:a\n\n", [event("a")]),
        Case("only one space goes", "data:  a\n\n", [event(" a")]),
        Case("lines end with CR", "data: a\r\rdata: b\r\r", [event("a"), event("b")]),
        Case("lines end with CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", [event("a"), event("b")]),
        Case("mixed line ends", "data: a\r\ndata: b\rdata: c\n\r\n", [event("a\nb\nc")]),
        Case("CR LF LF is two line ends", "data: a\r\n\ndata: b\n\n", [event("a"), event("b")]),
        Case("data over several lines", "data: a\ndata:\ndata: c\n\n", [event("a\n\nc")]),
        Case("an empty data line is data", "data\n\n", [event("")]),
        Case("two empty data lines", "data\ndata\n\n", [event("\n")]),
        Case("a byte order mark goes", "\u{FEFF}data: a\n\n", [event("a")]),
        Case("only the first one", "\u{FEFF}\u{FEFF}data: a\n\n", []),
        Case("comments", ": hello\n:\ndata: a\n: data: x\n\n", [event("a")]),
        Case(
            "a named event", "event: x\ndata: a\n\ndata: b\n\n",
            [event("a", name: "x"), event("b")]),
        Case("a name without data is forgotten", "event: x\n\ndata: b\n\n", [event("b")]),
        Case(
            "ids stay until the next", "id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n\n",
            [
                event("a", id: "1", isNumbered: true), event("b", id: "1"),
                event("c", id: "2", isNumbered: true),
            ], lastEventID: "2"),
        Case(
            "an empty id resets", "id: 1\ndata: a\n\nid\ndata: b\n\n",
            [event("a", id: "1", isNumbered: true), event("b", isNumbered: true)]),
        Case(
            "an id with NUL is ignored", "id: 1\n\nid: a\0b\ndata: a\n\n", [event("a", id: "1")],
            lastEventID: "1"),
        Case("an id without an event counts", "id: 7\n\n", [], lastEventID: "7"),
        Case("an id without a blank line does not", "id: 1\n\nid: 7\n", [], lastEventID: "1"),
        Case("retry", "retry: 2000\n\n", [], retry: 2000),
        Case("retry that is no number", "retry: 2s\nretry: -1\nretry:\n\n", []),
        Case("retry beyond all bounds", "retry: 99999999999999999999\n\n", [], retry: .max),
        Case("unknown fields and names in capitals", "Data: x\nfoo: y\ndata: a\n\n", [event("a")]),
        Case("what does not end is no event", "data: a\n\ndata: b\n", [event("a")]),
        Case("colons in the value", "data: {\"a\":1}\n\n", [event("{\"a\":1}")]),
        Case("text beyond ASCII", "data: żółw 🐢\n\n", [event("żółw 🐢")]),
    ]

    @Test(arguments: cases)
    func `a stream gives its events, wherever it is cut`(_ expected: Case) throws {
        let bytes = expected.stream
        for cut in 0...bytes.count {
            var parser = EventStreamParser()
            let events = try parser.feed(bytes[..<cut]) + parser.feed(bytes[cut...])
            #expect(events == expected.events, "cut at \(cut)")
            #expect(parser.lastEventID == expected.lastEventID, "cut at \(cut)")
            #expect(parser.retryMilliseconds == expected.retry, "cut at \(cut)")
        }
        var parser = EventStreamParser()
        var events: [ServerSentEvent] = []
        for byte in bytes { events += try parser.feed([byte]) }
        #expect(events == expected.events, "byte by byte")
    }

    @Test func `bytes that are no UTF-8 become replacement characters`() throws {
        var parser = EventStreamParser()
        let events = try parser.feed(Array("data: a".utf8) + [0xFF] + Array("b\n\n".utf8))
        #expect(events == [Self.event("a\u{FFFD}b")])
    }

    @Test func `a new connection goes on with the id of the last one`() throws {
        var parser = EventStreamParser(lastEventID: "41")
        let events = try parser.feed(Array("data: a\n\n".utf8))
        #expect(events == [Self.event("a", id: "41")])
    }

    @Test func `an event that does not end is given up at the limit`() throws {
        var parser = EventStreamParser(byteLimit: 64)
        _ = try parser.feed(Array("data: 0123456789\n".utf8))
        #expect(throws: EventStreamParser.TooLong()) {
            for _ in 0..<64 { _ = try parser.feed(Array("data: 0123456789\n".utf8)) }
        }
    }

    @Test func `events below the limit go on for ever`() throws {
        var parser = EventStreamParser(byteLimit: 64)
        var count = 0
        for _ in 0..<64 { count += try parser.feed(Array("data: 0123456789\n\n".utf8)).count }
        #expect(count == 64)
    }
}
