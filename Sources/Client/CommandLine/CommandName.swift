/// The names of commands, as people mistype them.
public enum CommandName {
    /// Refuses a first word that is no command, and says which it may have been; options pass.
    ///
    /// - Throws: `badArgument`.
    public static func check(_ word: String?, among names: [String]) throws(ClientError) {
        guard let word, !word.hasPrefix("-"), !word.hasPrefix("__"), !names.contains(word) else {
            return
        }
        if word.contains("://") {
            throw .badArgument(
                "a URL needs a command: ferry get \(ShellWord.quoted(GivenURL(word).url))")
        }
        guard let near = nearest(to: word, among: names) else {
            throw .badArgument("there is no command '\(word)': `ferry help` lists them")
        }
        throw .badArgument("there is no command '\(word)': did you mean `ferry \(near)`?")
    }

    /// The name that takes the fewest changes, at most a third of its letters, or two.
    public static func nearest(to word: String, among names: [String]) -> String? {
        let near = names.map { (name: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= max(1, min(2, $0.name.count / 2)) }
        return near.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }

    /// How many letters are to be changed, inserted, left out or exchanged with the next one.
    static func distance(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first.lowercased()), Array(second.lowercased()))
        guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
        var rows = [Array(0...b.count)]
        for i in 1...a.count {
            var row = [i]
            for j in 1...b.count {
                let change = a[i - 1] == b[j - 1] ? 0 : 1
                var least = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + change)
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    least = min(least, rows[i - 2][j - 2] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
