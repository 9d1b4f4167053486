import JSON
import Testing

@testable import Diagnostics

/// Log lines: whole, in their order, and without secrets.
struct LogLineTests {
    private let fields = LogFields(list: [
        ("task", .name("tsk_1")), ("code", .number(-1005)),
        ("words", .words("two \"words\"")), ("duration", .duration(.milliseconds(1500))),
        ("url", .url("https://user:secret@example.com/a?token=secret#secret")),
        ("odd", .name("a\u{1b}[31m\nb\u{85}")), ("none", .name("")),
    ])

    private func line(_ format: Log.Format) -> String {
        let bytes = LineHandler.line(
            format, level: "info", area: "engine", sentence: "a task has failed", fields,
            at: 1_795_000_000_123)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `text is for people: one line, whatever the fields hold`() {
        #expect(
            line(.text) == #"""
                2026-11-18T11:06:40.123Z info engine: a task has failed task=tsk_1 code=-1005 \#
                words="two \"words\"" duration=1.5s url=https://example.com/a \#
                odd=a\u{001B}[31m\u{000A}b\u{0085} none=""

                """#)
    }

    @Test func `JSON is for programs: an object on a line, numbers as numbers`() throws {
        let text = line(.json)
        #expect(text.hasSuffix("}\n") && text.dropLast().allSatisfy { !$0.isNewline })
        let json = try JSONValue(parsing: Array(text.utf8))
        #expect(json["time"]?.string == "2026-11-18T11:06:40.123Z")
        #expect(json["level"]?.string == "info" && json["area"]?.string == "engine")
        #expect(json["message"]?.string == "a task has failed")
        #expect(json["code"]?.int64 == -1005 && json["words"]?.string == "two \"words\"")
        #expect(json["url"]?.string == "https://example.com/a")
        #expect(!text.contains("secret"))
    }

    @Test func `below the threshold the fields are not even made`() {
        var made = 0
        func field() -> Log.Field {
            made += 1
            return .number(made)
        }
        #expect(!Log.isWriting(.debug) && Log.isWriting(.notice))
        let log = Log("test")
        log.write(.debug, "nobody reads this", ["made": field()])
        #expect(made == 0)
        Log.setThreshold(.debug)
        defer { Log.setThreshold(.notice) }
        log.write(.debug, "a line of a test", ["made": field()])
        #expect(made == 1)
    }
}
