import Foundation

/// Settings of the environment and of a file.
struct SettingsSource {
    let environment: [String: String]
    private let file: SettingsFile

    /// The settings of the environment, and of the file that an option or it names.
    init(configuration: String?, environment: [String: String]) throws(Refusal) {
        self.environment = environment
        let path = configuration ?? environment["FERRY_CONFIGURATION"]
        file = try path.map(SettingsFile.read) ?? SettingsFile()
    }

    /// The data directory that an option names, or that is named here.
    ///
    /// - Throws: `Refusal` for an empty name: it would be that of the working directory.
    func dataDirectory(_ option: String?) throws(Refusal) -> String {
        let path = option ?? text("dataDirectory") ?? "./ferry-data"
        guard path.isEmpty else { return path }
        throw Refusal(
            description: """
                The data directory has an empty name: give the path of a folder by \
                --data-directory, FERRY_DATA_DIRECTORY or "dataDirectory", or leave it out for \
                ./ferry-data.
                """, code: option == nil ? 78 : 64)
    }

    func text(_ name: String) -> String? {
        environment[SettingsSource.variable(name)] ?? file.values[name]?.first
    }

    func list(_ name: String) -> [String] {
        if let text = environment[SettingsSource.variable(name)] {
            return text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return file.values[name] ?? []
    }

    /// A whole number, of the option or from here.
    func number(
        _ name: String, _ option: Int?, in range: ClosedRange<Int>, default usual: Int
    ) throws(Refusal) -> Int {
        guard let text = option.map(String.init) ?? text(name) else { return usual }
        guard let number = Int(text), range.contains(number) else {
            throw refusal(
                of: name, isOption: option != nil,
                """
                --\(SettingsSource.option(name)) must be a whole number from \
                \(range.lowerBound) to \(range.upperBound).
                """)
        }
        return number
    }

    /// Whether something is wished, by the option or from here.
    func flag(_ name: String, _ option: Bool) throws(Refusal) -> Bool {
        guard !option, let text = text(name) else { return option }
        guard let isOn = Bool(text) else {
            throw refusal(
                of: name, isOption: false,
                "--\(SettingsSource.option(name)) must be true or false.")
        }
        return isOn
    }

    /// What a setting is refused with that cannot be used: of a value of the file, in its name.
    func refusal(of name: String, isOption: Bool, _ words: String) -> Refusal {
        guard !isOption, environment[SettingsSource.variable(name)] == nil,
            file.values[name] != nil, let path = file.path
        else { return Refusal(description: words, code: 64) }
        return Refusal(description: "\(path): \(words)", code: 78)
    }

    /// What `read` makes of a setting; where it is wrong for a command line, and the file has it,
    /// the refusal is in the file's name.
    func reading<Value>(
        _ name: String, isOption: Bool, _ read: () throws(Refusal) -> Value
    ) throws(Refusal) -> Value {
        do throws(Refusal) {
            return try read()
        } catch {
            throw error.code == 64
                ? refusal(of: name, isOption: isOption, error.description) : error
        }
    }

    /// As `reading`, of an option that may be repeated, or else of the list from here.
    func readingList<Value>(
        _ name: String, _ options: [String], _ read: ([String]) throws(Refusal) -> Value
    ) throws(Refusal) -> Value {
        try reading(name, isOption: !options.isEmpty) { () throws(Refusal) in
            try read(options.isEmpty ? list(name) : options)
        }
    }

    /// As `reading`, of an option or else of the text from here; nil where there is neither.
    func readingText<Value>(
        _ name: String, _ option: String?, _ read: (String) throws(Refusal) -> Value
    ) throws(Refusal) -> Value? {
        guard let text = option ?? text(name) else { return nil }
        return try reading(name, isOption: option != nil) { () throws(Refusal) in try read(text) }
    }

    /// `dataDirectory` → `data-directory`.
    private static func option(_ name: String) -> String {
        variable(name).dropFirst("FERRY_".count).lowercased()
            .replacingOccurrences(of: "_", with: "-")
    }

    /// `dataDirectory` → `FERRY_DATA_DIRECTORY`.
    private static func variable(_ name: String) -> String {
        "FERRY_"
            + name.reduce(into: "") { result, character in
                if character.isUppercase { result += "_" }
                result += character.uppercased()
            }
    }
}
