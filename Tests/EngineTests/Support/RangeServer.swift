import Engine
import Loop
import Semantics

/// Answers attempts as an origin with one entity does: whole or in ranges, with validators.
@LoopActor
final class RangeServer {
    var bytes: [UInt8]
    var tag: String?
    /// Whether `If-Range` with a tag counts as changed, as some content delivery networks have it.
    var refusesTags = false
    /// Attempts of this number (from 0) end after so many bytes of their answer.
    var cuts: [Int: Int] = [:]
    /// Attempts of this number are answered with this status in place of the entity.
    var statuses: [Int: Int] = [:]
    /// Numbers of attempts whose answer is held back.
    var held: Set<Int> = []
    /// What every answer has besides.
    var extraFields: HeaderList = [:]
    private(set) var ranges: [String?] = []

    init(_ bytes: [UInt8], tag: String? = "\"one\"") {
        self.bytes = bytes
        self.tag = tag
    }

    /// Lets the server answer all attempts from now on.
    func serve(_ network: FakeTransport) {
        network.onStart = { [self] attempt in
            let number = ranges.count
            ranges.append(attempt.request.headers.first("Range"))
            if !held.contains(number) { answer(attempt, number) }
        }
    }

    func answer(_ attempt: FakeAttempt, _ number: Int) {
        if let status = statuses[number] { return attempt.answer(status, [:], Array("no".utf8)) }
        var fields = extraFields
        fields.append("Accept-Ranges", "bytes")
        fields.append("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        fields.append("Date", "Tue, 02 Jan 2024 00:00:00 GMT")
        if let tag { fields.append("ETag", tag) }
        let requested = attempt.request.headers.first("Range").flatMap(part)
        let isSame: Bool
        switch attempt.request.headers.first("If-Range") {
        case nil: isSame = true
        case let condition? where condition.hasPrefix("\""):
            isSame = condition == tag && !refusesTags
        case let date?: isSame = date == "Mon, 01 Jan 2024 00:00:00 GMT"
        }
        if let requested, isSame {
            guard requested.lowerBound < bytes.count else {
                fields.append("Content-Range", "bytes */\(bytes.count)")
                fields.append("Content-Length", "0")
                attempt.head(416, fields)
                attempt.end()
                return
            }
            fields.append(
                "Content-Range",
                "bytes \(requested.lowerBound)-\(requested.upperBound - 1)/\(bytes.count)")
            send(206, fields, Array(bytes[requested]), on: attempt, number)
        } else {
            send(200, fields, bytes, on: attempt, number)
        }
    }

    private func part(_ field: String) -> Range<Int>? {
        let ends = field.dropFirst("bytes=".count).split(
            separator: "-", omittingEmptySubsequences: false)
        guard let first = Int(ends[0]) else { return nil }
        let end = ends[1].isEmpty ? bytes.count : min(bytes.count, (Int(ends[1]) ?? 0) + 1)
        return first..<max(first, end)
    }

    private func send(
        _ status: Int, _ fields: HeaderList, _ body: [UInt8], on attempt: FakeAttempt, _ number: Int
    ) {
        var fields = fields
        fields.append("Content-Length", String(body.count))
        attempt.head(status, fields)
        if let cut = cuts[number] {
            attempt.body(Array(body.prefix(cut)))
            attempt.end(.url(.networkConnectionLost))
        } else {
            attempt.body(body)
            attempt.end()
        }
    }
}
