import ArgumentParser

/// `ferry check`: looks through a data directory.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look for damage in the data directory of a stopped gateway, or in a backup.",
        discussion: """
            Looks at the structure of the database, opens every row with the key, and holds the files \
            of contents against the rows. Each damage is a line; nothing is changed.

            --repair sets aside what cannot be used, so that the gateway starts and all else is as it \
            was: rows go to the table `damaged` of the database, their files to content/damaged-…. \
            Nothing is deleted, and the database is copied before (ferry.sqlite.before-repair-…). What \
            belongs to a session that is set aside goes with it. Streams whose events are set aside \
            begin anew.

            Name the key as `ferry serve` is told: nothing, --key-file or FERRY_KEY.

            Exit status: 0 no damage; 1 damage, with --repair too; 64 wrong arguments; 65 the database \
            is missing or cannot be repaired; 66 no such data directory or key file; 73 the data \
            directory cannot be written; 74 the disk failed or is full; 75 a gateway runs; 78 the key is \
            not the one that the data are sealed with, or contents are elsewhere.
            """)

    @Argument(
        help: "The data directory (default: ./ferry-data), or a backup.", completion: .directory)
    var directory: String?

    @Flag(help: "Set aside what is damaged.")
    var repair = false

    @Option(help: "The key's file (default: that in the data directory).", completion: .file())
    var keyFile: String?

    @Option(help: "The file with the options of `ferry serve`, in JSON.", completion: .file())
    var configuration: String?

    func run() throws {
        let isDamaged = try DataCommand.run(configuration: configuration, directory: directory) {
            command, place in
            let folder = try DataFolder(existing: place)
            try folder.refuseContentsElsewhere { _ in
                "`ferry check` looks through a data directory that has its contents in it."
            }
            let check = DataCheck(folder: folder, source: try command.keySource(keyFile))
            return try repair ? check.repair() : check.look()
        }
        if isDamaged { throw ExitCode(1) }
    }
}
