/// What somebody may have meant who has misspelt a name.
enum NearestName {
    /// The name that takes the fewest slips to become `text`: a letter too much, too few, another
    /// one, or two that have changed places, whatever their case. Nil where all take more than a
    /// third of the letters, and where nothing of `text` would be left.
    static func of(_ text: String, in names: [String]) -> String? {
        let letters = Array(text.lowercased())
        let nearest = names.map { (name: $0, slips: slips(letters, Array($0.lowercased()))) }
            .min { $0.slips < $1.slips }
        guard let nearest, nearest.slips <= max(1, letters.count / 3),
            nearest.slips < letters.count
        else { return nil }
        return nearest.name
    }

    /// The distance of optimal string alignment.
    private static func slips(_ one: [Character], _ other: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...other.count)
        for (row, letter) in one.enumerated() {
            var line = [row + 1]
            for (column, opposite) in other.enumerated() {
                var slips = min(
                    last[column] + (letter == opposite ? 0 : 1), last[column + 1] + 1,
                    line[column] + 1)
                if row > 0, column > 0, letter == other[column - 1], one[row - 1] == opposite {
                    slips = min(slips, beforeLast[column - 1] + 1)
                }
                line.append(slips)
            }
            (beforeLast, last) = (last, line)
        }
        return last[other.count]
    }
}
