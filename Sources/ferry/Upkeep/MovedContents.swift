import Client
import Curl
import Engine
import Loop
import PostgresStore
import SQLiteStore
import Sealing
import Semantics

/// Where the contents of a data directory are copied to when its database is moved.
struct MovedContents {
    let place: ContentsPlace
    /// What credentials for it are looked for in.
    let environment: [String: String]
    /// A file of PEM certificates to trust in place of the system's; nil for the system's.
    let trustedCertificates: String?
    /// How often it is told how far the copying is.
    private static let interval = Duration.seconds(10)
    /// How many of those that are missing are named.
    private static let namedCount = 5

    /// What the database has to tell of them.
    struct Told {
        /// What marks the place.
        let mark: String
        /// In which series what has come of downloads is there.
        let series: [TaskID: Int64]
    }

    /// Where the database is that tells of them.
    enum Database {
        /// In the data directory, and moved after them.
        case moved
        /// In the data directory, and stays there.
        case staying
        /// On a server.
        case housed
    }

    init(
        _ place: ContentsPlace, environment: [String: String], trustedCertificates: String?
    ) {
        self.place = place
        self.environment = environment
        self.trustedCertificates = trustedCertificates
    }

    /// Copies them. Blocks; once in a process.
    ///
    /// - Parameters:
    ///   - named: what the database tells of.
    ///   - folder: of a gateway that has ended; nothing in it is changed but a file that names the
    ///     place.
    ///   - database: the one that tells of them. Beside one that stays, what is not whole stays.
    ///   - sign: gives a database a sign of life; nil where it needs none. Blocks.
    ///   - lines: get what was done.
    /// - Returns: what the database has to tell.
    /// - Throws: `Refusal` where anything is missing, too; `UnusablePlace`, `StoreError`,
    ///   `FileError`. What was copied stays for the next attempt.
    func copy(
        _ named: [NamedFile], from folder: DataFolder, beside database: Database,
        sign: (@Sendable () throws -> Void)? = nil, _ lines: inout ResultLines
    ) throws -> Told {
        Signals.ignoreBrokenPipes()
        let (mark, outcome) = try LoopActor.runLoop { [self] in
            try await copy(named, from: folder, partsStay: database == .staying, sign)
        }
        for sentence in sentences(outcome) { lines.print(sentence) }
        guard outcome.missing.isEmpty else {
            throw refusal(of: outcome.missing, in: folder, beside: database)
        }
        return Told(mark: mark, series: outcome.series)
    }

    private func refusal(
        of missing: [ContentOwner], in folder: DataFolder, beside database: Database
    ) -> Refusal {
        let named = missing.prefix(Self.namedCount).map { owner in
            switch owner {
            case .task(let id): "task \(id)"
            case .file(let id): "staged file \(id)"
            case .entry(let id): "stored response \(id)"
            }
        }
        let remedy =
            switch database {
            case .moved, .staying: "`ferry check --repair` sets aside what tells of them."
            case .housed:
                """
                put them back, or start the gateway as before, delete there what tells of them, stop it, \
                and run this again.
                """
            }
        return Refusal(
            description: """
                Contents that the database tells of are missing or not whole in \
                \(folder.contents.path) (\(missing.count): \(named.joined(separator: ", "))\
                \(missing.count > named.count ? ", …" : "")): \(remedy) Nothing but copies has been made.
                """, code: 65)
    }

    /// Moves them, for a gateway whose database stays in the data directory. Blocks; once in a
    /// process.
    ///
    /// - Parameters:
    ///   - folder: of a gateway that has ended.
    ///   - lines: get what the operator has to know, in sentences.
    /// - Throws: as `copy`; then the same command goes on.
    func move(from folder: DataFolder, _ lines: inout ResultLines) throws {
        try folder.refuseWithoutDatabase()
        let told = try copy(folder.namedFiles(), from: folder, beside: .staying, &lines)
        // From here on nobody looks for them in the directory.
        try ContentsMark(mark: told.mark, place: place.description).write(in: folder)
        if let kept = try SetAside(in: folder).wholeContents() {
            lines.print(
                "The results as they were are in \(kept); remove them when nobody needs them.")
        }
        try ContentsMark.remove(from: folder, .copied)
        lines.print("Start the gateway as before, with --contents \(place.description).")
    }

    /// The same for one whose database is on a server, which goes on with any data directory.
    ///
    /// - Parameters:
    ///   - folder: of a gateway that has ended.
    ///   - url: of its database.
    ///   - lines: get what the operator has to know, in sentences.
    /// - Throws: as `copy`; then the same command goes on.
    func move(
        from folder: DataFolder, ofDatabaseAt url: String, _ lines: inout ResultLines
    ) throws {
        try folder.refuseDatabase()
        let database = try Refusal.atServer(url) { () throws(StoreError) in
            try HousedDatabase(url: url)
        }
        defer { database.leave() }
        let known = try Refusal.atServer(url) { () throws(StoreError) in try database.contentsMark()
        }
        if let known {
            // What is here of downloads may be older than what is there.
            try refuseOther(than: known, of: database.place, in: folder)
            lines.print("\(database.place) was told of \(place.description) already.")
        } else {
            let named = try Refusal.atServer(url) { () throws(StoreError) in
                try database.namedFiles()
            }
            let sign = { @Sendable in
                try Refusal.atServer(url) { () throws(StoreError) in try database.giveSign() }
            }
            let told = try copy(named, from: folder, beside: .housed, sign: sign, &lines)
            try Refusal.atServer(url) { () throws(StoreError) in
                try database.tell(told.mark, told.series)
            }
        }
        if let sentence = SetAside(in: folder).contents() { lines.print(sentence) }
        try ContentsMark.remove(from: folder, .copied)
        lines.print(invitation(" and its key"))
    }

    /// Refuses all but the place that an earlier attempt has told a database of.
    private func refuseOther(
        than mark: String, of database: String, in folder: DataFolder
    ) throws(Refusal) {
        let copied = try ContentsMark(in: folder, .copied)
        let name = copied?.mark == mark ? copied?.place : nil
        guard name != place.description else { return }
        throw Refusal(
            description: """
                The contents of \(database) are in \(name ?? "a place of their own") already. Nothing \
                has been changed.
                """, code: 78)
    }

    /// How gateways are started whose contents are in the place, and whose database is on a server.
    ///
    /// - Parameter key: ` and …`, as which they are given the key.
    /// - Returns: a sentence.
    func invitation(_ key: String) -> String {
        """
        Start it with --store, --contents \(place.description)\(key), on any machine and with any data \
        directory that has no results; several with --node-address.
        """
    }

    @LoopActor
    private func copy(
        _ named: [NamedFile], from folder: DataFolder, partsStay: Bool,
        _ sign: (@Sendable () throws -> Void)?
    ) async throws -> (mark: String, outcome: ContentMove.Outcome) {
        let curl = CurlSettings(
            egress: EgressPolicy(allowed: [], ownAddresses: []),
            userAgent: "ferry/\(Ferry.release)", trustedCertificates: trustedCertificates)
        let files = FileThreads(count: 4)
        let contents = try place.open(environment, curl, digests: SHADigests(), files: files)
        let mark = try await folder.claim(contents, at: place.description)
        await contents.forgetOldWork()
        let move = ContentMove(
            from: folder.contents, to: contents, files: files, partsStay: partsStay)
        let telling = LoopActor.start {
            while !Task.isCancelled {
                await LoopActor.nextTurn(after: Self.interval)
                tell(move)
            }
        }
        defer { telling.cancel() }
        let thread = FileThreads(count: 1)
        let living = sign.map { sign in
            LoopActor.start { await live(by: sign, on: thread) }
        }
        defer { living?.cancel() }
        try await move.run(named)
        if let sign { try await thread.run { try sign() } }
        // From here on gateways may take the place for one with all of them.
        if move.outcome.missing.isEmpty { try await contents.setMark(mark) }
        return (mark, move.outcome)
    }

    /// Gives signs of life until its task is cancelled, or the database is lost: the one behind
    /// the copying tells of that.
    @LoopActor
    private func live(
        by sign: @escaping @Sendable () throws -> Void, on thread: FileThreads
    ) async {
        do {
            while !Task.isCancelled {
                await LoopActor.nextTurn(after: HousedDatabase.beat)
                try await thread.run { try sign() }
            }
        } catch {
            Serve.tell("No sign of life could be given to the database (\(error)).")
        }
    }

    @LoopActor
    private func tell(_ move: ContentMove) {
        guard move.restCount > 0 else { return }
        Serve.tell(
            """
            \(Figures.size(move.outcome.copiedBytes)) have been copied; contents to look at: \
            \(move.restCount).
            """)
    }

    private func sentences(_ outcome: ContentMove.Outcome) -> [String] {
        var sentences = [
            """
            Contents copied to \(place.description): \(outcome.copiedCount) (\(outcome.copiedBytes) \
            bytes); there already: \(outcome.presentCount).
            """
        ]
        if outcome.lostParts > 0 {
            sentences.append(
                """
                Downloads that begin anew, as what had come of them is not in the data directory: \
                \(outcome.lostParts).
                """)
        }
        return sentences
    }
}
