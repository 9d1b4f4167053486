/// Writes metrics in Prometheus' text format.
/// <https://prometheus.io/docs/instrumenting/exposition_formats/>
public struct Exposition: Sendable {
    /// The media type of what is written.
    public static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// What kind of metric a family is.
    public enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// A label's name and value.
    public typealias Label = (name: StaticString, value: String)

    private var text = ""

    /// Nothing yet.
    public init() { text.reserveCapacity(32 << 10) }

    /// What was written.
    public var bytes: [UInt8] { Array(text.utf8) }

    /// Writes a family: its help, its type, and then its samples.
    ///
    /// - Parameters:
    ///   - name: with its unit, and `_total` for a counter.
    ///   - kind: of the metric.
    ///   - help: one line.
    ///   - samples: writes them.
    public mutating func family(
        _ name: StaticString, _ kind: Kind, _ help: StaticString,
        _ samples: (inout Samples) -> Void
    ) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        var family = Samples(name: name, text: text)
        text = ""  // so that the family has the only copy
        samples(&family)
        text = family.text
    }

    /// Writes a counter without labels.
    public mutating func counter(_ name: StaticString, _ help: StaticString, _ value: Int) {
        family(name, .counter, help) { $0.add(value) }
    }

    /// Writes a counter with one sample for each value of a label.
    public mutating func counters(
        _ name: StaticString, _ help: StaticString, by label: StaticString,
        _ values: some Sequence<(String, Int)>
    ) {
        family(name, .counter, help) { samples in
            for (text, value) in values { samples.add(value, [(label, text)]) }
        }
    }

    /// Writes a gauge without labels.
    public mutating func gauge(_ name: StaticString, _ help: StaticString, _ value: Int) {
        family(name, .gauge, help) { $0.add(value) }
    }

    /// Writes a gauge with one sample for each value of a label.
    public mutating func gauges(
        _ name: StaticString, _ help: StaticString, by label: StaticString,
        _ values: some Sequence<(String, Int)>
    ) {
        family(name, .gauge, help) { samples in
            for (text, value) in values { samples.add(value, [(label, text)]) }
        }
    }

    /// Writes a histogram without labels of its own.
    public mutating func histogram(
        _ name: StaticString, _ help: StaticString, _ histogram: Histogram
    ) {
        family(name, .histogram, help) { $0.add(histogram) }
    }

    /// The samples of one family.
    public struct Samples {
        fileprivate let name: StaticString
        fileprivate var text: String

        /// Adds a whole number.
        public mutating func add(_ value: Int, _ labels: [Label] = []) {
            line(labels, String(value))
        }

        /// Adds a number; must be finite.
        public mutating func add(_ value: Double, _ labels: [Label] = []) {
            line(labels, Samples.number(value))
        }

        /// Adds a histogram: its buckets, each with what is in those below it, its sum and its
        /// count.
        public mutating func add(_ histogram: Histogram, _ labels: [Label] = []) {
            var count = 0
            for (limit, found) in zip(histogram.buckets.limits, histogram.counts) {
                count += found
                let end = Samples.number(Double(limit) / histogram.buckets.divisor)
                line(labels + [("le", end)], String(count), suffix: "_bucket")
            }
            count += histogram.counts.last ?? 0
            line(labels + [("le", "+Inf")], String(count), suffix: "_bucket")
            let sum = Double(histogram.sum) / histogram.buckets.divisor
            line(labels, Samples.number(sum), suffix: "_sum")
            line(labels, String(count), suffix: "_count")
        }

        private mutating func line(_ labels: [Label], _ value: String, suffix: StaticString = "") {
            text += "\(name)\(suffix)"
            for (index, label) in labels.enumerated() {
                text += "\(index == 0 ? "{" : ",")\(label.name)=\"\(Samples.escaped(label.value))\""
            }
            if !labels.isEmpty { text += "}" }
            text += " \(value)\n"
        }

        private static func number(_ value: Double) -> String {
            let whole = Int(exactly: value)
            return whole.map(String.init) ?? value.description
        }

        private static func escaped(_ value: String) -> String {
            var text = ""
            for character in value.unicodeScalars {
                switch character {
                case "\\": text += "\\\\"
                case "\"": text += "\\\""
                case "\n": text += "\\n"
                default: text.unicodeScalars.append(character)
                }
            }
            return text
        }
    }
}
