import CCurl
import Semantics
import Testing

@testable import Curl

/// A request's header as libcurl reads it.
@Suite struct RequestHeaderLinesTests {
    private static func lines(_ headers: HeaderList) -> [String] {
        let header = RequestHeaderLines(headers)
        var lines: [String] = []
        var next = header.first
        while let node = next?.pointee {
            lines.append(node.data.map { String(cString: $0) } ?? "")
            next = node.next
        }
        return lines
    }

    @Test func `fields are sent in their order, and nothing is added to them`() {
        let fields: HeaderList = ["X-B": "2", "x-a": "", "X-B": "ü: 1", "accept": "*/*"]
        #expect(
            Self.lines(fields)
                == ["X-B: 2", "x-a;", "X-B: ü: 1", "accept: */*", "Content-Type:", "Expect:"])
        #expect(Self.lines([:]) == ["Accept:", "Content-Type:", "Expect:"])
        #expect(Self.lines(["Content-Type": "a/b"]) == ["Content-Type: a/b", "Accept:", "Expect:"])
    }

    @Test func `bytes of cookies go back as they came, and of no other field (RFC 6265bis 5.6)`() {
        let text = OpaqueBytes.text([0x61, 0xff, 0x62])
        let header = RequestHeaderLines(["COOKIE": text, "X-Cookie": text])
        let cookie = header.first.map {
            Array(UnsafeBufferPointer(start: $0.pointee.data, count: 12))
        }
        #expect(cookie?.map(UInt8.init(bitPattern:)) == Array("COOKIE: a".utf8) + [0xff, 0x62, 0])
        #expect(Self.lines(["X-Cookie": text])[0] == "X-Cookie: " + text)
    }
}
