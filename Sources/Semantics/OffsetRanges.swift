/// Offsets of bytes as ranges that are ascending, neither empty, overlapping nor touching, from 0:
/// their normal form.
extension [Range<Int64>] {
    /// Whether the ranges are in normal form.
    var isNormal: Bool {
        allSatisfy { $0.lowerBound >= 0 && !$0.isEmpty }
            && zip(self, dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
    }

    /// How many bytes ranges in normal form cover.
    var byteCount: Int64 { reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// What ranges in normal form leave of `0..<total`, in normal form. They must not go beyond it.
    func gaps(in total: Int64) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var end: Int64 = 0
        for range in self {
            if end < range.lowerBound { gaps.append(end..<range.lowerBound) }
            end = range.upperBound
        }
        if end < total { gaps.append(end..<total) }
        return gaps
    }

    /// Ranges that together cover what these cover, in normal form; the parts below 0 are left out.
    func normalised() -> [Range<Int64>] {
        var result: [Range<Int64>] = []
        for range in sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let range = range.clamped(to: 0..<Int64.max)
            guard !range.isEmpty else { continue }
            if let last = result.last, range.lowerBound <= last.upperBound {
                let end = Swift.max(last.upperBound, range.upperBound)
                result[result.count - 1] = last.lowerBound..<end
            } else {
                result.append(range)
            }
        }
        return result
    }
}
