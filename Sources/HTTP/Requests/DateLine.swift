internal import Glibc
internal import Syntax

/// The `Date` field, made once a second (RFC 9110 §6.6.1).
struct DateLine {
    private var second: time_t = -1
    private var bytes: [UInt8] = []

    /// The whole line of HTTP/1, with its end.
    var line: [UInt8] {
        mutating get {
            update()
            return bytes
        }
    }

    /// The value alone.
    var value: ArraySlice<UInt8> {
        mutating get {
            update()
            return bytes.dropFirst("Date: ".utf8.count).dropLast(2)
        }
    }

    private mutating func update() {
        let now = time(nil)
        guard now != second else { return }
        second = now
        bytes = Array("Date: \(HTTPDate(secondsSince1970: Int64(now)))\r\n".utf8)
    }
}
