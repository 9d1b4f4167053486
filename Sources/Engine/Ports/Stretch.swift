public import Semantics

/// Bytes of a download that is not whole yet, which were sent to the place of whole contents ahead
/// of the rest: another node goes on behind them where this one is lost.
public struct Stretch: Hashable, Sendable {
    /// Whose download it is.
    public let task: TaskID
    /// What the bytes have in common with others: they are of one entity. A download that begins
    /// anew, wherever, has another series.
    public let series: Int64
    /// Which bytes of the entity.
    public let range: Range<Int64>

    /// A stretch from its parts.
    public init(of task: TaskID, in series: Int64, _ range: Range<Int64>) {
        self.task = task
        self.series = series
        self.range = range
    }

    /// Its name below a place that is laid out as a `ContentFolder`.
    public var name: String {
        "\(ContentFolder.name(of: task)).\(series).\(range.lowerBound)\(ContentKind.ahead.rawValue)"
    }

    /// The stretch of a name without the folder that it is in; nil where that is none's.
    ///
    /// - Parameters:
    ///   - name: as above, behind the last slash.
    ///   - length: of the bytes.
    public init?(named name: some StringProtocol, length: Int64) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, name.hasSuffix(ContentKind.ahead.rawValue),
            let task = TaskID(String(parts[0])), let series = Int64(parts[1]),
            let start = Int64(parts[2]), start >= 0, length > 0, length <= .max - start
        else { return nil }
        self.init(of: task, in: series, start..<start + length)
    }
}
