internal import Glibc

/// The `Date` field line, made once a second (RFC 9110 §5.6.7).
struct HTTPDate {
    private var second: time_t = -1
    private(set) var line: [UInt8] = []

    /// Makes the line new when the second has changed.
    mutating func update() {
        let now = time(nil)
        guard now != second else { return }
        second = now
        line = Array("Date: \(HTTPDate.text(now))\r\n".utf8)
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ instant: time_t) -> String {
        var instant = instant
        var parts = tm()
        gmtime_r(&instant, &parts)
        let two = { (value: CInt) in value < 10 ? "0\(value)" : "\(value)" }
        let day = days[Int(parts.tm_wday)]
        let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
        return "\(day), \(date) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }
}
