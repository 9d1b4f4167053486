import Curl
import Engine
import Foundation
import Glibc
import Loop
import PostgresStore
import S3ContentStore
import Sealing
import Semantics

/// Where contents that are whole are kept, where that is not the data directory.
enum ContentsPlace {
    /// A folder that may be on another file system, by its absolute path.
    case folder(String)
    case s3(S3Location)

    /// Reads the value of `--contents`.
    init(_ text: String, environment: [String: String]) throws(Refusal) {
        if text.hasPrefix("/") {
            var path = text[...]
            while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
            self = .folder(String(path))
            return
        }
        guard text.hasPrefix("s3://") else {
            throw Refusal(
                description: """
                    --contents names an absolute path, or a place on S3 as in s3://bucket/prefix.
                    """, code: 64)
        }
        do {
            self = .s3(try S3Location(text, environment: environment))
        } catch {
            throw Refusal(description: error.description, code: 64)
        }
    }

    /// As people know it.
    var description: String {
        switch self {
        case .folder(let path): path
        case .s3(let location): location.place
        }
    }

    /// What keeps contents there.
    ///
    /// - Parameters:
    ///   - environment: what credentials are looked for in.
    ///   - curl: how S3 is asked, but for where that may be.
    ///   - digests: for S3.
    ///   - files: read what is sent to S3.
    /// - Returns: a place of which nothing has been asked yet.
    /// - Throws: `UnusablePlace`.
    @LoopActor
    func open(
        _ environment: [String: String], _ curl: CurlSettings, digests: SHADigests,
        files: FileThreads
    ) throws -> any WholeContents {
        switch self {
        case .folder(let path): return SharedFolderContents(at: path, files: FileThreads())
        case .s3(let location):
            return try S3Contents(
                at: location, environment: environment,
                transport: CurlTransport(
                    try curl.reachingEverything(with: DescriptorShares.contents)),
                digests: digests, files: files)
        }
    }
}

extension CurlSettings {
    /// The same for what the operator has named: the rules for clients' destinations are not for
    /// it.
    ///
    /// - Parameter descriptors: how many connections there may be.
    /// - Returns: the settings.
    /// - Throws: nothing that happens: the addresses are written here.
    func reachingEverything(with descriptors: Int) throws -> CurlSettings {
        var settings = self
        settings.egress = EgressPolicy(
            allowed: try ["0.0.0.0/0", "::/0"].map { try AllowedDestination(parsing: $0) })
        settings.descriptors = descriptors
        return settings
    }
}

extension DataFolder {
    /// Refuses a folder whose contents are elsewhere, for who would look for them here.
    ///
    /// - Parameter remedy: what to do, given the place.
    /// - Throws: `Refusal`.
    func refuseContentsElsewhere(_ remedy: (String) -> String) throws(Refusal) {
        guard let known = try ContentsMark(in: self) else { return }
        throw Refusal(
            description: """
                The contents of \(root) are in \(known.place): \(remedy(known.place)) Nothing has been \
                changed.
                """, code: 78)
    }

    /// Makes sure that a place has the contents of this folder and its database, and no others', so
    /// that nobody takes for lost, or for superfluous, what is elsewhere. A new place is marked.
    ///
    /// - Parameters:
    ///   - contents: the place.
    ///   - name: what it is called.
    ///   - store: the database.
    ///   - isNew: whether that has nothing in it yet.
    ///   - standsBy: whether another gateway has the same database and place, in turns with this
    ///     one, and may have marked the place before either had anything to keep.
    /// - Throws: `Refusal`, `UnusablePlace`.
    @LoopActor
    func join(
        _ contents: any WholeContents, at name: String, of store: GatewayStore, isNew: Bool,
        standsBy: Bool
    ) async throws {
        try refuseOwnContents(for: name)
        let known = try ContentsMark(in: self)
        let found = try await finishedMark(of: contents, at: name)
        if let known {
            if found == nil, try await contents.isEmpty(), try await !store.namesFiles() {
                // The first start was interrupted between the two marks.
                try ContentsMark(mark: known.mark, place: name).write(in: self)
                return try await contents.setMark(known.mark)
            }
            guard known.mark == found else {
                throw Refusal.elsewhere(known, of: self, not: name, isEmpty: found == nil)
            }
            if known.place != name {
                try ContentsMark(mark: known.mark, place: name).write(in: self)
            }
            return
        }
        if let found {
            // A node that was lost is made anew beside a database on a server.
            let hasNothing = standsBy ? try await contents.isEmpty() : false
            guard case .server(let database) = store,
                try await database.contentsMark().map({ $0 == found }) ?? (!isNew || hasNothing)
            else {
                throw Refusal.anotherGatewaysContents(in: name)
            }
            return try ContentsMark(mark: found, place: name).write(in: self)
        }
        guard try await contents.isEmpty() else {
            throw Refusal.othersContents(in: name)
        }
        if try await store.namesFiles() {
            throw Refusal(
                description: """
                    \(name) is empty, though \(store.place(in: self)) tells of results: start the \
                    gateway as before, with the place that has them. \(Refusal.copying(to: name)) \
                    Nothing has been changed.
                    """, code: 65)
        }
        let made = ContentsMark(mark: ContentsMark.random(), place: name)
        try made.write(in: self)
        try await contents.setMark(made.mark)
    }

    /// The same for one of several nodes, whose database knows the mark: nobody's contents are
    /// looked for in a folder that is not mounted, or put there.
    ///
    /// - Parameters:
    ///   - contents: the place.
    ///   - name: what it is called.
    ///   - store: the database, which has the mark of the first node that has come.
    ///   - isNew: whether that has nothing in it yet.
    /// - Throws: `Refusal`, `UnusablePlace`, `StoreError`.
    @LoopActor
    func join(
        _ contents: any WholeContents, at name: String, ofNodesOf store: PostgresNode, isNew: Bool
    ) async throws {
        try refuseOwnContents(for: name)
        let found = try await finishedMark(of: contents, at: name)
        var agreed = try await store.contentsMark()
        if agreed == nil {
            if found == nil || isNew, try await !contents.isEmpty() {
                throw Refusal.othersContents(in: name)
            }
            if found == nil, try await store.namesFiles() {
                throw Refusal.noContents(in: name, ofNodesOf: store.place)
            }
            let mark = found ?? ContentsMark.random()
            agreed = try await store.contentsMark(proposing: mark)
            if agreed == mark, found == nil {
                try ContentsMark(mark: mark, place: name).write(in: self)
                try await contents.setMark(mark)
            }
        }
        guard let agreed else { return }
        if let known = try ContentsMark(in: self), known.mark != agreed {
            throw Refusal(
                description: """
                    The data directory \(root) belongs to the contents in \(known.place), which are \
                    not those of \(store.place): give the node one of its own. Nothing has been \
                    changed.
                    """, code: 78)
        }
        if try ContentsMark(in: self) != nil, try await contents.mark() == nil,
            try await contents.isEmpty(), try await !store.namesFiles()
        {
            // This node's first start was interrupted between the two marks.
            try await contents.setMark(agreed)
        }
        // The first node may be about to mark the place.
        for _ in 0..<50 where try await contents.mark() != agreed {
            await LoopActor.nextTurn(after: .milliseconds(200))
        }
        guard try await contents.mark() == agreed else {
            throw Refusal.noContents(in: name, ofNodesOf: store.place)
        }
        try ContentsMark(mark: agreed, place: name).write(in: self)
    }

    /// Refuses to do without a place where the database was told of one.
    ///
    /// - Parameter store: the database.
    /// - Throws: `Refusal`, `StoreError`.
    func refuseToldContents(of store: GatewayStore) async throws {
        guard case .server(let database) = store, let mark = try await database.contentsMark()
        else { return }
        let copied = try ContentsMark(in: self, .copied)
        let name = copied?.mark == mark ? copied?.place : nil
        throw Refusal(
            description: """
                The contents of \(store.place(in: self)) are in \(name ?? "a place of their own"): start \
                the gateway with --contents \(name ?? "PLACE, as its nodes"). Nothing has been changed.
                """, code: 78)
    }

    /// The mark of a place; nil where there is none.
    ///
    /// - Throws: `Refusal` where contents have not all been copied there; `UnusablePlace`.
    @LoopActor
    private func finishedMark(
        of contents: any WholeContents, at name: String
    ) async throws -> String? {
        let mark = try await contents.mark()
        guard let mark, ContentsMark.isUnfinished(mark) else { return mark }
        throw Refusal(
            description: """
                \(name) has only part of the contents that `ferry migrate --contents \(name)` copies \
                there: run that again where it was run, with the same arguments, until it has ended \
                well. Nothing has been changed.
                """, code: 65)
    }

    /// Makes a place the one that contents of this folder are copied to, before any gateway has it:
    /// until `setMark` with what is returned it is marked as one that does not have all of them.
    /// Here it is written down for the next attempt, and for nobody else.
    ///
    /// - Parameters:
    ///   - contents: the place.
    ///   - name: what it is called.
    /// - Returns: its mark from when it has all of them.
    /// - Throws: `Refusal` where others have contents there, or this folder has some elsewhere;
    ///   `UnusablePlace`.
    @LoopActor
    func claim(_ contents: any WholeContents, at name: String) async throws -> String {
        let found = try await contents.mark()
        if let known = try ContentsMark(in: self) {
            guard known.mark == found else {
                throw Refusal.elsewhere(known, of: self, not: name, isEmpty: found == nil)
            }
            return known.mark
        }
        let begun = try ContentsMark(in: self, .copied)
        if let found {
            guard let begun, [begun.mark, begun.unfinished].contains(found) else {
                throw Refusal.anotherGatewaysContents(in: name)
            }
            // A gateway may have worked here since all were there.
            if found == begun.mark { try await contents.setMark(begun.unfinished) }
            return begun.mark
        }
        guard try await contents.isEmpty() else { throw Refusal.othersContents(in: name) }
        let mark = begun?.place == name ? begun?.mark : nil
        let made = ContentsMark(mark: mark ?? ContentsMark.random(), place: name)
        try made.write(in: self, .copied)
        try await contents.setMark(made.unfinished)
        return made.mark
    }

    /// What is whole here would be looked for there.
    private func refuseOwnContents(for name: String) throws {
        var hasWhole = false
        try contents.forEachEntry([.whole]) { _ in hasWhole = true }
        guard hasWhole else { return }
        throw Refusal(
            description: """
                \(contents.path) has results, which are not in \(name): start the gateway without \
                --contents, or with another data directory. \(Refusal.copying(to: name)) Nothing has \
                been changed.
                """, code: 65)
    }
}

extension Refusal {
    /// A place with contents that are somebody else's.
    fileprivate static func othersContents(in place: String) -> Refusal {
        Refusal(
            description: """
                \(place) has contents that no gateway has marked as its own: name an empty place. \
                Nothing has been changed.
                """, code: 65)
    }

    /// A place that another gateway has marked.
    fileprivate static func anotherGatewaysContents(in place: String) -> Refusal {
        Refusal(
            description: """
                \(place) has the contents of another gateway: name another place, as a prefix or a \
                folder below it. Nothing has been changed.
                """, code: 65)
    }

    /// Another place than the one that a folder knows.
    fileprivate static func elsewhere(
        _ known: ContentsMark, of folder: DataFolder, not place: String, isEmpty: Bool
    ) -> Refusal {
        Refusal(
            description: """
                \(place) does not have the contents of \(folder.root), which are in \(known.place)\
                \(isEmpty ? ": it is empty" : ""). Name that place, or mount it. Nothing has been \
                changed.
                """, code: 65)
    }

    /// How a place gets what a data directory has.
    fileprivate static func copying(to place: String) -> String {
        """
        `ferry migrate --contents \(place)` moves results there from a data directory, and with \
        sqlite:DIRECTORY postgres://… its database, too.
        """
    }

    /// A place without the contents that a database tells of.
    fileprivate static func noContents(in place: String, ofNodesOf store: String) -> Refusal {
        Refusal(
            description: """
                \(place) is not where the nodes of \(store) have their contents: name that place, or \
                mount it. \(copying(to: place)) Nothing has been changed.
                """, code: 65)
    }
}
