internal import Diagnostics
public import Loop
public import Semantics

/// Reading what tasks have fetched.
@LoopActor
public final class ContentService {
    private let tasks: TaskDirectory
    private let sessions: SessionDirectory
    private let staged: StagedFiles
    private let queues: CommitQueues
    private let spools: Spools
    private let saveFolders: (any SaveFolders)?
    private let log = Log("engine")

    init(
        tasks: TaskDirectory, sessions: SessionDirectory, staged: StagedFiles, queues: CommitQueues,
        spools: Spools, saveFolders: (any SaveFolders)?
    ) {
        self.tasks = tasks
        self.sessions = sessions
        self.staged = staged
        self.queues = queues
        self.spools = spools
        self.saveFolders = saveFolders
    }

    /// The names of the folders that downloads can be saved in, in order.
    public var saveFolderNames: [String] { saveFolders?.names ?? [] }

    /// The content of a task: whole, or followed while it grows.
    ///
    /// Waits for the response of a running task that has none yet, as long as the client does.
    public func access(
        to id: TaskID, of tenant: TenantID
    ) async throws(GatewayError) -> ContentAccess {
        _ = try await tasks.newest(id, tenant)
        if let runner = tasks.runners[id] {
            guard runner.record.state != .suspended || runner.sink != nil else { throw .noContent }
            if !tasks.isStopping {
                await runner.contentBegun()
                tasks.settle(runner)
            }
            if runner.record.state != .completed { return try follow(runner) }
        }
        let task = try await tasks.read(id, tenant).record
        // It is whole, but that is not durable, and a crash would undo it.
        if task.state != .completed, tasks.known(id)?.state == .completed {
            throw queues.onDisk.stallError
        }
        return try whole(task)
    }

    private func follow(_ runner: TaskRunner) throws(GatewayError) -> ContentAccess {
        switch runner.sink {
        case .spool(let spool):
            return ContentAccess(record: runner.record, length: nil) { range throws(GatewayError) in
                guard range == nil else { throw .notComplete }
                return ContentStream(.spool(spool))
            }
        case .pipe(let pipe):
            guard !pipe.hasReader else { throw .alreadyRead }
            return ContentAccess(record: runner.record, length: nil) { range throws(GatewayError) in
                guard range == nil else { throw .notComplete }
                guard pipe.attachReader() else { throw .alreadyRead }
                runner.readerAttached()
                return ContentStream(.pipe(pipe))
            }
        case nil:
            throw .noContent
        }
    }

    private func whole(_ record: TaskRecord) throws(GatewayError) -> ContentAccess {
        if record.options.delivery == .stream, record.response != nil { throw .alreadyRead }
        guard let content = record.content else { throw .noContent }
        return ContentAccess(record: record, length: content.length) {
            [self] range throws(GatewayError) in
            let range = range ?? 0..<content.length
            return ContentStream(
                try await source(of: content, record), from: range.lowerBound, to: range.upperBound)
        }
    }

    private func source(
        of content: ContentRecord, _ record: TaskRecord
    ) async throws(GatewayError) -> ContentStream.Source {
        if content.length == 0 { return .bytes([]) }
        let session = sessions[record.session]
        switch content.place {
        case .store:
            let commits = session?.commits ?? queues.onDisk
            if let bytes = commits.recentContent(of: record.id) { return .bytes(bytes) }
            let stored = try await reading { () throws(StoreError) in
                try await commits.store.content(of: record.id)
            }
            guard let stored else { throw .noContent }
            return .bytes(stored)
        case .folder:
            guard let saved = record.saved, let destination = record.options.destination,
                let file = await saveFolders?.open(
                    saved, in: destination.folder, length: content.length)
            else { throw .savedFileChanged }
            return .file(file)
        case .file:
            if let file = session?.unnamedFiles[record.id] {
                return .file(spools.open(file, length: content.length))
            }
            do {
                return .file(try await spools.contents.openKnown(record.contentName))
            } catch {
                log.write(.error, "a content cannot be opened", ["error": .words("\(error)")])
                throw .cannotOpen(error, orIsGone: .noContent)
            }
        }
    }

    /// Bytes of a content as an inline event told of them; nil where they are gone (S-58).
    public func bytes(
        of id: TaskID, of tenant: TenantID, from offset: Int64, count: Int
    ) async -> [UInt8]? {
        do {
            var bytes: [UInt8] = []
            if case .spool(let spool) = tasks.runners[id]?.sink,
                spool.length >= offset + Int64(count)
            {
                while bytes.count < count {
                    bytes += try await spool.read(
                        at: offset + Int64(bytes.count), count: count - bytes.count)
                }
                return bytes
            }
            let access = try await access(to: id, of: tenant)
            let stream = try await access.open(offset..<offset + Int64(count))
            while let more = try await stream.next() { bytes += more }
            if bytes.count == count { return bytes }
        } catch {
            // Said below: the content was deleted, or a crash has taken what had come of it.
        }
        log.write(
            .info, "an inline event is replayed without its bytes", ["task": .name("\(id)")])
        return nil
    }
}

extension ContentService: BodyOpener {
    func openSource(
        _ body: BodyRecord, of tenant: TenantID
    ) async throws(GatewayError) -> BodyContent {
        switch body {
        case .task(let id, let length):
            let record = try await tasks.read(id, tenant).record
            guard let content = record.content, content.length == length else {
                throw .noContent
            }
            switch try await source(of: content, record) {
            case .bytes(let bytes): return .bytes(bytes)
            case .file(let file): return .file(file)
            case .spool, .pipe: throw .noContent
            }
        case .file(let id, let length):
            return .file(try await staged.open(id, length: length, of: tenant))
        case .bytes(let bytes): return .bytes(bytes)
        case .stream: throw .noContent
        }
    }
}
