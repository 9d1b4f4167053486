internal import JSON

/// Sizes, rates and times in words for people.
public enum Figures {
    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// A size in binary units: `512 B`, and with three digits that matter `9.77 KiB`, `700 MiB`.
    public static func size(_ bytes: Int64) -> String {
        var value = Double(max(0, bytes))
        var unit = 0
        // Bytes are whole; of larger units, 999.5 would already need four digits.
        while value >= (unit == 0 ? 1024 : 999.5), unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return "\(unit == 0 ? String(Int(value)) : threeDigits(value)) \(units[unit])"
    }

    /// A rate: `58.1 MiB/s`.
    public static func rate(_ bytesPerSecond: Double) -> String {
        size(Int64(min(max(bytesPerSecond, 0), 0x1p62))) + "/s"
    }

    /// What a transfer came to: `700 MiB in 0:12 (58.1 MiB/s)`, the rate only where it can be told.
    static func outcome(_ bytes: Int64, in elapsed: Duration) -> String {
        let seconds = elapsed / .seconds(1)
        let rate = seconds > 0.01 ? " (\(self.rate(Double(bytes) / seconds)))" : ""
        return "\(size(bytes)) in \(time(elapsed))\(rate)"
    }

    /// A length of time to the second: `0:07`, `12:30`, `1:02:03`, `2d 03h`; `--:--` for none.
    public static func time(_ duration: Duration?) -> String {
        guard let duration, duration < .seconds(100 * 86400) else { return "--:--" }
        let seconds = max(0, duration.components.seconds)
        let (days, hours) = (seconds / 86400, seconds / 3600 % 24)
        let (minutes, rest) = (seconds / 60 % 60, twoDigits(seconds % 60))
        if days > 0 { return "\(days)d \(twoDigits(hours))h" }
        return hours > 0 ? "\(hours):\(twoDigits(minutes)):\(rest)" : "\(minutes):\(rest)"
    }

    /// An instant to the second, `2026-11-21 07:00:01Z`, of one in RFC 3339 as the gateway writes
    /// it; anything else stays as it is, but fit for a terminal.
    static func instant(_ text: String) -> String {
        guard RFC3339.milliseconds(text) != nil, text.utf8.count >= 20, text.hasSuffix("Z") else {
            return DisplayText.line(text)
        }
        return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + "Z"
    }

    private static func twoDigits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    /// A number below 1000 with as many decimals as make three digits.
    private static func threeDigits(_ value: Double) -> String {
        let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        let scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1
        let scaled = Int((value * Double(scale)).rounded())
        guard decimals > 0 else { return "\(scaled)" }
        let fraction = String(scaled % scale)
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        return "\(scaled / scale).\(zeros)\(fraction)"
    }
}
