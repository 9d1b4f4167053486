import Sealing

/// Where the key comes from that seals what is secret in the data directory (security §5).
enum KeySource {
    /// `key` in the data directory, made at its first start.
    case dataDirectory
    /// A file that the operator has made: `--key-file`.
    case file(String)
    /// `FERRY_KEY`.
    case environment(DataKey)

    /// The variable with the key itself.
    static let variable = "FERRY_KEY"

    /// The source that the option, the environment or the file names.
    ///
    /// `text` is the value of `FERRY_KEY`, which is no longer in the environment.
    init(option: String?, _ source: SettingsSource, variable text: String?) throws(Refusal) {
        let path = option ?? source.text("keyFile")
        guard let text else {
            self = path.map(KeySource.file) ?? .dataDirectory
            return
        }
        guard path == nil else {
            throw Refusal(
                description: "There are two keys: give one of --key-file and FERRY_KEY.", code: 78)
        }
        self = .environment(try KeySource.key(of: KeySource.variable, text))
    }

    /// The key in a variable. An empty one is none either: the operator has meant a key.
    static func key(of variable: String, _ text: String) throws(Refusal) -> DataKey {
        guard let key = DataKey(hexadecimal: text) else {
            throw Refusal(
                description: """
                    \(variable) is no key: a key is 64 hexadecimal digits, as `openssl rand -hex 32` \
                    makes them.
                    """, code: 78)
        }
        return key
    }
}
