import ArgumentParser

/// What the commands have in common that work on a data directory without its gateway.
struct DataCommand {
    /// The settings of `ferry serve`, but for its options.
    let settings: SettingsSource
    /// The keys of the environment, which are no longer there.
    private let keys: [String: String]

    /// Runs one, and has the command end with an error told as one of the gateway's.
    ///
    /// - Parameters:
    ///   - configuration: the file with the options of `ferry serve`.
    ///   - directory: the data directory, if the command line names one.
    ///   - body: is given the data directory's path.
    /// - Returns: What the body returns.
    /// - Throws: `ExitCode`.
    static func run<Value>(
        configuration: String?, directory: String?,
        _ body: (DataCommand, _ place: String) throws -> Value
    ) throws -> Value {
        let (environment, keys) = ProcessEnvironment.taking([
            KeySource.variable, KeyRotation.variable,
        ])
        var place = directory ?? ""
        do {
            let settings = try SettingsSource(
                configuration: configuration, environment: environment)
            place = try settings.dataDirectory(directory)
            return try body(DataCommand(settings: settings, keys: keys), place)
        } catch {
            let refusal = Refusal(error, in: place)
            throw ExitCode(Serve.say(refusal.description, code: refusal.code))
        }
    }

    /// Where the key comes from: the file that the command line names, or what the settings say.
    func keySource(_ file: String?) throws(Refusal) -> KeySource {
        try KeySource(option: file, settings, variable: keys[KeySource.variable])
    }

    /// The new key of the environment, as it stands there.
    var newKey: String? { keys[KeyRotation.variable] }
}
