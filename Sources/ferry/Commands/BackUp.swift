import ArgumentParser

/// `ferry backup`: copies a data directory while the gateway runs.
struct BackUp: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the data directory to a new folder, while the gateway runs or not.",
        discussion: """
            The database is that of one moment, and every content that it tells of is there: shared with \
            the data directory where the file system can (reflink), else a hard link, and copied on \
            another file system. Run it as the gateway's user, on its machine; it needs no key.

            manifest.json is written last: without it, and without ferry.sqlite, a backup was \
            interrupted, and is to be removed. `ferry check DIR` proves a backup.

            To restore, put the folder in the place of the data directory and start the gateway. Tasks \
            that ran are then as after a crash. The key is in the backup if it lies in the data \
            directory, with the token: keep it private. With --key-file or FERRY_KEY it is not: keep \
            that key for as long as the backup.

            Hard links and reflinks lie on the same disk: for its loss, copy the backup elsewhere.

            Exit status: 0 done; 64 wrong arguments; 65 the database is damaged; 66 no such data \
            directory; 73 the folder is not empty or cannot be made; 74 the disk failed or is full; 75 \
            the key is being changed; 78 contents are elsewhere, or the key file is none.
            """)

    @Argument(help: "The folder to make; it must not exist, or be empty.", completion: .directory)
    var directory: String

    @Option(help: "The data directory (default: ./ferry-data).", completion: .directory)
    var dataDirectory: String?

    @Option(help: "The file with the options of `ferry serve`, in JSON.", completion: .file())
    var configuration: String?

    func run() throws {
        try DataCommand.run(configuration: configuration, directory: dataDirectory) { _, place in
            let folder = try DataFolder(inUse: place)
            try folder.refuseContentsElsewhere { _ in
                """
                `ferry backup` copies a data directory that has its contents in it. Copy that place by \
                its own means, together with this directory of a gateway that is stopped.
                """
            }
            var backup = try Backup(of: folder, to: DataFolder.absolute(directory))
            let outcome = try backup.run()
            for name in outcome.missing {
                _ = Serve.say(
                    "\(name) is missing or not whole in \(place), and so in the backup.", code: 0)
            }
            try Serve.tellResult(
                "\(directory) has the database and \(outcome.fileCount) files of \(outcome.byteCount) bytes."
            )
        }
    }
}
