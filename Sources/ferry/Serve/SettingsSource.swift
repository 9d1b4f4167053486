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

    /// The data directory where no option names one.
    var dataDirectory: String { text("dataDirectory") ?? "./ferry-data" }

    func text(_ name: String) -> String? {
        environment[SettingsSource.variable(name)] ?? file.values[name]?.first
    }

    func list(_ name: String) -> [String] {
        if let text = environment[SettingsSource.variable(name)] {
            return text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return file.values[name] ?? []
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
