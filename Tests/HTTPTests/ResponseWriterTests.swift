import Loop
import Testing

@testable import HTTP

/// The writer remembers lines of the answer before, and never those of another one.
struct ResponseWriterTests {
    private var writer = ResponseWriter()

    @Test func `each answer has its own fields, whatever the one before had`() {
        var test = self
        let poll: HeaderFields = ["Content-Type": "application/json", "Cache-Control": "no-store"]
        var changed = poll
        changed.set("Cache-Control", "no-cache")
        var longer = poll
        longer.add("Vary", "Origin")
        for fields in [poll, poll, changed, poll, longer, longer, HeaderFields(), HeaderFields()] {
            #expect(test.lines(of: fields) == fields.map { "\($0.name): \($0.value)" })
        }
        // In place, where nobody else has them.
        for number in 0..<3 {
            var fields: HeaderFields = ["ETag": "\"\(number)\""]
            #expect(test.lines(of: fields) == ["ETag: \"\(number)\""])
            fields.set("ETag", "\"changed\"")
            #expect(test.lines(of: fields) == ["ETag: \"changed\""])
        }
    }

    /// The lines between that of the request's id and that of the length.
    private mutating func lines(of fields: HeaderFields) -> [String] {
        let head = AnswerHead(
            status: 200, fields: fields, length: .known(0), id: RequestID(number: 1), request: nil)
        writer.begin(head, framing: .length(0), staysOpen: true, date: Array("Date: x\r\n".utf8))
        let lines = String(decoding: writer.bytes, as: UTF8.self).split(separator: "\r\n")
        return lines.drop { !$0.hasPrefix("Ferry-Request-Id") }.dropFirst()
            .prefix { !$0.hasPrefix("Content-Length") }.map(String.init)
    }
}
