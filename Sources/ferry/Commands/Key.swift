import ArgumentParser

/// `ferry key`: what is done with the key of a data directory.
struct Key: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change the key that secrets on the disk are sealed with.",
        subcommands: [Rotate.self])

    /// `ferry key rotate`: seals the data with another key.
    struct Rotate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Seal the data with another key; the gateway must be stopped.",
            discussion: """
                A new key takes the place of the old one in its file: that of the data directory, or \
                of --key-file. With --new-key-file, or FERRY_NEW_KEY, that is the new key, and the \
                old one's file is not changed; only the data directory's own is removed. Name the \
                old key as `ferry serve` is told: nothing, --key-file or FERRY_KEY.

                Keys in the environment are 64 hexadecimal digits (openssl rand -hex 32), in files \
                32 bytes (head -c 32 /dev/urandom) of mode 0600.

                It may be interrupted at any time, also by a crash: the data are sealed with the old \
                key or the new one, never with both, and the next start finds the right one in the \
                file. Where it was interrupted with a key of yours, give the same command again.

                A key file is for one data directory: another one that is sealed with the same key \
                does not open any more when a new key has taken its place.

                With --store, or FERRY_STORE, it is the database on that server that is sealed with \
                another key, and all its gateways must be stopped, also those that stand by. Give \
                both keys: the old one by --key-file or FERRY_KEY, the new one by --new-key-file or \
                FERRY_NEW_KEY. No file of a key is changed.

                Copies of the data that were made before need the old key. Resume data \
                that clients have kept is sealed with it, too: it is refused from then on (422), and \
                those downloads begin anew.

                Exit status: 0 done; 64 wrong arguments; 65 the database is missing or damaged; 66 no \
                such data directory or key file; 69 no connection to the server; 73 the data \
                directory cannot be written; 74 the disk or the server failed or is full; 75 a gateway runs; 78 the key is not the one that the data \
                are sealed with, or is no key, or there are two.
                """)

        @Option(help: "The data directory (default: ./ferry-data).", completion: .directory)
        var dataDirectory: String?

        @Option(help: "A database on a server, as --store of `ferry serve`.")
        var store: String?

        @Option(
            help: "The file of the old key (default: that in the data directory).",
            completion: .file())
        var keyFile: String?

        @Option(
            help: "A file with the new key; it is made where there is none.", completion: .file())
        var newKeyFile: String?

        @Option(help: "The file with the options of `ferry serve`, in JSON.", completion: .file())
        var configuration: String?

        func run() throws {
            try DataCommand.run(configuration: configuration, directory: dataDirectory) {
                command, place in
                let source = try command.keySource(keyFile)
                let target = try target(command.newKey)
                if let url = store ?? command.settings.text("store") {
                    guard ServeSettings.isDatabase(url) else {
                        throw Refusal(
                            description: """
                                --store is a database on a server, as in \
                                postgres://user@host:port/database.
                                """, code: 64)
                    }
                    let rotation = DatabaseKeyRotation(url: url, source: source, target: target)
                    for sentence in try rotation.run() { try Serve.tellResult(sentence) }
                    return
                }
                let rotation = KeyRotation(
                    folder: try DataFolder(existing: place), source: source, target: target)
                for sentence in try rotation.run() { try Serve.tellResult(sentence) }
            }
        }

        private func target(_ variable: String?) throws -> KeyRotation.Target {
            switch (newKeyFile, variable) {
            case (nil, nil): .inPlace
            case (let path?, nil): .file(path)
            case (nil, let text?):
                .environment(try KeySource.key(of: KeyRotation.variable, text))
            case (.some, .some):
                throw Refusal(
                    description: """
                        There are two new keys: give one of --new-key-file and FERRY_NEW_KEY.
                        """, code: 78)
            }
        }
    }
}
