internal import Diagnostics
public import Engine
internal import Files
internal import Glibc
public import Loop
public import Semantics

/// Whole contents as objects on S3, or on what speaks its language: `<prefix><two digits>/<id>`, as
/// in a folder of contents, stretches beside them, and one for the mark.
///
/// An object that is open when it is removed goes when its last reader has; a crash before leaves
/// it to housekeeping, which finds it in the list.
public final class S3Contents: WholeContents {
    private struct Readers {
        var count = 0
        var isDoomed = false
    }

    private let location: S3Location
    private let client: S3Client
    private let objects: S3Objects
    private let uploader: S3Uploader
    private let sizes: S3Sizes
    private let ahead: S3ReadAhead
    private var readers: [ContentName: Readers] = [:]
    /// What is being removed because its last reader has gone.
    private var removals: [ContentName: Task<Void, Never>] = [:]
    /// As the port says.
    public private(set) var leftBehind: Set<ContentName> = []
    /// When the mark was last seen, so that what is missing for a reader is missing.
    private var markSeenAt: Duration?
    private let clock: any Clock
    private let log = Log("contents.s3")
    private static let markName = "ferry-contents"
    private static let markInterval = Duration.seconds(60)

    /// Contents at a place; nothing is asked before the first call.
    ///
    /// - Parameters:
    ///   - location: where.
    ///   - environment: credentials are looked for in it, else in the file that it names.
    ///   - transport: asks; it needs to be let go wherever the endpoint is.
    ///   - digests: SHA-256, HMAC and MD5.
    ///   - files: read what is sent.
    ///   - clock: what requests are dated by, and what is kept for a while is measured by.
    /// - Throws: `UnusablePlace` for an environment with half of the credentials.
    public convenience init(
        at location: S3Location, environment: [String: String], transport: any Transport,
        digests: any Digests, files: FileThreads, clock: any Clock = SystemClock()
    ) throws(UnusablePlace) {
        try self.init(
            at: location, environment: environment, transport: transport, digests: digests,
            files: files, clock: clock, sizes: S3Sizes())
    }

    init(
        at location: S3Location, environment: [String: String], transport: any Transport,
        digests: any Digests, files: FileThreads, clock: any Clock, sizes: S3Sizes
    ) throws(UnusablePlace) {
        self.location = location
        client = S3Client(
            location, transport: transport, digests: digests,
            credentials: try S3CredentialSource(
                environment: environment, files: files, clock: clock),
            clock: clock, silence: sizes.silence)
        self.clock = clock
        objects = S3Objects(client, bucket: location.bucket, digests: digests)
        self.sizes = sizes
        ahead = S3ReadAhead(room: sizes.ahead, idle: sizes.idle, clock: clock)
        uploader = S3Uploader(
            objects, below: location.prefix, digests: digests, files: files, sizes: sizes)
        client.onReturn = { [weak uploader] in uploader?.forgetAbandoned() }
    }

    private func key(_ content: ContentName) -> String { location.prefix + content.path }

    private var markKey: String { location.prefix + Self.markName }

    // MARK: The mark

    /// As the port says.
    public func mark() async throws -> String? {
        do throws(S3Failure) {
            let mark = try await objects.readWhole(markKey)
            if mark != nil { markSeenAt = clock.uptime }
            return mark.map { String(decoding: $0.prefix { $0 > 0x20 }, as: UTF8.self) }
        } catch {
            throw UnusablePlace(error.sentence(about: location), isAway: error.kind == .away)
        }
    }

    /// As the port says.
    public func setMark(_ mark: String) async throws {
        do throws(S3Failure) {
            try await objects.put(markKey, Array("\(mark)\n".utf8))
            markSeenAt = clock.uptime
        } catch {
            throw UnusablePlace(error.sentence(about: location), isAway: error.kind == .away)
        }
    }

    /// As the port says; looks at a thousand objects at most.
    public func isEmpty() async throws -> Bool {
        do throws(S3Failure) {
            let found = try await objects.list(below: location.prefix, limit: 1000)
            return !found.contains { name(of: $0.key) != nil }
        } catch {
            throw UnusablePlace(error.sentence(about: location), isAway: error.kind == .away)
        }
    }

    /// As the port says: uploads, whose parts S3 keeps, and bills.
    public func forgetOldWork() async {
        do throws(S3Failure) {
            let uploads = try await objects.uploads(below: location.prefix)
            uploader.abandon(uploads.filter { name(of: $0.key) != nil })
        } catch {
            log.write(
                .warning, "uploads of an earlier process stay on S3",
                ["error": .words("\(error.fileError)"), "place": .name(location.place)])
        }
    }

    /// Makes sure that what is missing is missing, and not the bucket. Who gives up or removes what
    /// is missing has to look now.
    ///
    /// - Parameter isRemembered: whether it does that the mark was there a minute ago, as for a
    ///   reader.
    /// - Throws: `FileError` that is `isAway` where it is not there.
    private func requireMark(isRemembered: Bool = false) async throws {
        if isRemembered, let markSeenAt, clock.uptime - markSeenAt < Self.markInterval { return }
        try await asking { [self] () async throws in
            guard try await objects.readWhole(markKey) != nil else {
                throw S3Failure("GetObject", .away, "The mark is missing.")
            }
        }
        markSeenAt = clock.uptime
    }

    // MARK: Contents

    /// As the port says.
    public func put(_ part: FinishedPart, while isWanted: @LoopActor () -> Bool) async throws {
        let name = part.name
        try await replacing(name) { [self] in
            try await uploader.put(part, as: key(name), while: isWanted)
        }
    }

    /// Makes an object behind the removal of what had its name: that could hit the new one. None
    /// begins meanwhile, because this counts as a reader.
    private func replacing(
        _ name: ContentName, _ body: @LoopActor () async throws -> Void
    ) async throws {
        while let removal = removals[name] { await removal.value }
        leftBehind.remove(name)
        readers[name, default: Readers()].count += 1
        defer { close(name) }
        try await asking(body)
        // Who still reads what was there before reads to no end; what is there now stays.
        readers[name]?.isDoomed = false
    }

    /// As the port says.
    public func open(_ content: ContentName) async throws -> (any OpenContent)? {
        guard readers[content]?.isDoomed != true, removals[content] == nil,
            !leftBehind.contains(content)
        else { return nil }
        readers[content, default: Readers()].count += 1
        do {
            let head = try await asking { [self] in try await objects.head(key(content)) }
            if let head {
                return S3Content(key(content), head, of: objects, ahead: ahead) { [weak self] in
                    LoopActor.post { self?.close(content) }
                }
            }
            try await requireMark(isRemembered: true)
        } catch {
            close(content)
            throw error
        }
        close(content)
        return nil
    }

    /// A reader has gone.
    private func close(_ content: ContentName) {
        guard var state = readers[content] else { return }
        state.count -= 1
        guard state.count == 0 else {
            readers[content] = state
            return
        }
        readers[content] = nil
        guard state.isDoomed else { return }
        leftBehind.insert(content)
        removals[content] = LoopActor.start { [self] in
            defer { removals[content] = nil }
            do throws(S3Failure) {
                try await objects.remove([key(content)])
                leftBehind.remove(content)
            } catch {
                log.write(
                    .warning, "a content stays on S3 until housekeeping removes it",
                    ["error": .words("\(error.fileError)")])
            }
        }
    }

    /// As the port says: S3 copies it, by itself.
    public func copy(_ source: ContentName, to target: ContentName) async throws {
        guard readers[source]?.isDoomed != true else { throw FileError("CopyObject", code: ENOENT) }
        try await replacing(target) { [self] in
            guard let head = try await objects.head(key(source)) else {
                try await requireMark()
                throw S3Failure("HeadObject", .missing)
            }
            try await uploader.copy(key(source), head, to: key(target))
        }
    }

    /// As the port says.
    public func remove(_ contents: [ContentName]) async throws {
        var keys: [String] = []
        for content in contents {
            if readers[content] != nil {
                readers[content]?.isDoomed = true
            } else {
                keys.append(key(content))
            }
        }
        let removed = keys
        try await asking { [self] in try await objects.remove(removed) }
        leftBehind.subtract(contents)
    }

    /// As the port says.
    public func length(of content: ContentName) async throws -> Int64? {
        let head = try await asking { [self] in try await objects.head(key(content)) }
        if head == nil { try await requireMark() }
        return head?.length
    }

    /// As the port says.
    public func list() async throws -> [ContentEntry] {
        let (listed, uploads) = try await asking { [self] in
            let uploads = try await objects.uploads(below: location.prefix)
            return (try await objects.list(below: location.prefix), uploads)
        }
        var entries: [ContentEntry] = []
        var ahead: [ContentOwner: (modified: Int64, length: Int64)] = [:]
        func add(_ owner: ContentOwner, _ modified: Int64, _ length: Int64) {
            let known = ahead[owner] ?? (0, 0)
            ahead[owner] = (max(known.modified, modified), known.length + length)
        }
        for object in listed {
            if let stretch = stretch(of: object) {
                add(.task(stretch.task), object.modified, object.length)
            } else if let name = name(of: object.key), readers[name]?.isDoomed != true,
                removals[name] == nil
            {
                entries.append(
                    ContentEntry(
                        owner: name.owner, kind: .whole, series: name.series,
                        modified: KeptTime(milliseconds: object.modified), tenant: nil,
                        length: object.length))
            }
        }
        for upload in uploads {
            if let name = name(of: upload.key) { add(name.owner, upload.begun, 0) }
        }
        return entries
            + ahead.map { owner, found in
                ContentEntry(
                    owner: owner, kind: .ahead,
                    modified: KeptTime(milliseconds: found.modified), tenant: nil,
                    length: found.length)
            }
    }

    /// What an object is a stretch of; nil for one that is none.
    private func stretch(of object: S3Objects.Listed) -> Stretch? {
        guard let name = object.key.split(separator: "/").last,
            let stretch = Stretch(named: name, length: object.length),
            object.key == key(stretch)
        else { return nil }
        return stretch
    }

    private func key(_ stretch: Stretch) -> String { location.prefix + stretch.name }

    // MARK: What is sent ahead

    /// As the port says: as the parts of an upload are, so that they become them.
    public func stretchLength(of total: Int64?) -> Int64 { sizes.part(of: total ?? 0) }

    /// As the port says: by one request.
    public func put(
        _ stretch: Stretch, _ read: @escaping @Sendable () throws -> [UInt8],
        while isWanted: @LoopActor () -> Bool
    ) async throws {
        let count = Int(stretch.range.upperBound - stretch.range.lowerBound)
        try await asking { [self] in
            try await uploader.put(count, as: key(stretch), read, while: isWanted)
        }
    }

    /// As the port says: a list of the task's objects.
    public func stretches(of task: TaskID) async throws -> [Stretch] {
        let listed = try await asking { [self] in
            try await objects.list(below: key(.task(task)) + ".")
        }
        if listed.isEmpty { try await requireMark() }
        return listed.compactMap(stretch)
    }

    /// As the port says.
    public func read(_ stretch: Stretch) async throws -> [UInt8] {
        let count = Int(stretch.range.upperBound - stretch.range.lowerBound)
        return try await asking { [self] in
            try await objects.read(key(stretch), nil, from: 0, count: count)
        }
    }

    /// As the port says.
    public func remove(_ stretches: [Stretch]) async throws {
        let keys = stretches.map(key)
        try await asking { [self] in try await objects.remove(keys) }
    }

    /// As the port says.
    public func forgetUploads(of owner: ContentOwner) async throws {
        try await asking { [self] in
            let uploads = try await objects.uploads(below: key(ContentName(owner)))
            uploader.abandon(uploads.filter { name(of: $0.key)?.owner == owner })
        }
    }

    /// Which content an object is; nil for one that is none.
    private func name(of key: String) -> ContentName? {
        guard let text = key.split(separator: "/").last, let name = ContentName(text),
            key == self.key(name)
        else { return nil }
        return name
    }

    /// As the port says.
    public func stopWaiting() { client.stop() }

    private func asking<Value: Sendable>(
        _ body: @LoopActor () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let failure as S3Failure {
            throw failure.fileError
        }
    }
}
