internal import JSON

/// The options of a command, by all their names.
public struct CommandOptions: Sendable {
    private let options: [Option]

    private struct Option {
        /// The names as they are typed: `--header`, `-H`.
        var names: [String]
        /// Whether it takes no value.
        var isFlag: Bool
        /// The first long name, without its hyphens.
        var name: String
    }

    /// The options that the command line's own description of a command tells of, as
    /// swift-argument-parser writes it for `--experimental-dump-help`.
    public init(describedBy text: String) {
        let description = try? JSONValue(parsing: Array(text.utf8))
        options = (description?["command"]?["arguments"]?.array ?? []).compactMap { argument in
            let names = (argument["names"]?.array ?? []).compactMap { name in
                name["name"]?.string.map { (name["kind"]?.string == "long" ? "--" : "-") + $0 }
            }
            guard let long = names.first(where: { $0.hasPrefix("--") }) else { return nil }
            return Option(
                names: names, isFlag: argument["kind"]?.string == "flag",
                name: String(long.dropFirst(2)))
        }
    }

    /// The names of all options, without hyphens; of several that mean the same, the first.
    public var names: Set<String> { Set(options.map(\.name)) }

    /// The name of the option that is called `name`, which may be another one of it.
    func canonical(_ name: String) -> String? {
        options.first { $0.names.contains("--" + name) }?.name
    }

    /// The options that are typed in `words`, with their last values; those of flags are empty.
    public func typed(in words: some Sequence<String>) -> [String: String] {
        var typed: [String: String] = [:]
        var waiting: Option?
        for word in words {
            if word == "--" { break }
            if let option = waiting, !word.hasPrefix("-") || word == "-" {
                typed[option.name] = word
                waiting = nil
                continue
            }
            waiting = nil
            guard word.hasPrefix("-"), word != "-" else { continue }
            for (option, value) in occurrences(in: word) {
                typed[option.name] = value ?? ""
                if value == nil, !option.isFlag { waiting = option }
            }
        }
        return typed
    }

    /// What a word that begins with a hyphen says: `--name`, `--name=value`, `-n`, `-nvalue`, and
    /// flags of one letter in front of another one.
    private func occurrences(in word: String) -> [(Option, String?)] {
        if word.hasPrefix("--") {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let option = options.first(where: { $0.names.contains(String(parts[0])) }) else {
                return []
            }
            return [(option, parts.count > 1 ? String(parts[1]) : nil)]
        }
        var found: [(Option, String?)] = []
        var rest = word.dropFirst()
        while let letter = rest.popFirst() {
            guard let option = options.first(where: { $0.names.contains("-\(letter)") }) else {
                break
            }
            guard option.isFlag else {
                found.append((option, rest.isEmpty ? nil : String(rest)))
                break
            }
            found.append((option, nil))
        }
        return found
    }
}
