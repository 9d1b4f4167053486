internal import Glibc
internal import Syntax

/// The `Date` field line, made once a second (RFC 9110 §6.6.1).
struct DateLine {
    private var second: time_t = -1
    private(set) var bytes: [UInt8] = []

    /// Makes the line new when the second has changed.
    mutating func update() {
        let now = time(nil)
        guard now != second else { return }
        second = now
        bytes = Array("Date: \(HTTPDate(secondsSince1970: Int64(now)))\r\n".utf8)
    }
}
