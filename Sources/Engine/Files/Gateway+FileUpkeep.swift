internal import Diagnostics
internal import Loop
internal import Semantics

/// How the records of staged files change, and when files go.
extension Gateway {
    /// Gives the store a file's newest form; memory has it afterwards, too.
    ///
    /// - Returns: false as soon as the store has no room. It gets the record when there is
    ///   some.
    func save(_ file: StagedFile) async -> Bool {
        durable.save(file)
        let generation = durable.generation
        await durable.caughtUp()
        guard durable.committedGeneration >= generation else { return false }
        adopt(file)
        return true
    }

    /// The store has a file's newest form.
    func adopt(_ file: StagedFile) {
        if stagedFiles[file.id] != nil { stagedFiles[file.id] = file }
    }

    /// An upload is over.
    func ended(_ upload: FileUpload) {
        fileUploads[upload.file.id] = nil
        if let file = stagedFiles[upload.file.id] { fileQuota.fit(file) }
    }

    /// Somebody reads or sends a complete file. The store hears of it once a minute.
    func noteUse(of file: StagedFile) {
        let now = keptClock.now
        guard now.since(file.usedAt) > .seconds(60), !deletingFiles.contains(file.id)
        else { return }
        var file = file
        file.usedAt = now
        stagedFiles[file.id] = file
        durable.save(file)
    }

    /// Removes a file and all that is kept of it, its bytes after its record: so no record is
    /// without its bytes.
    ///
    /// - Returns: false as soon as the store has no room. The file goes when there is some.
    @discardableResult
    func forget(_ id: FileID) async -> Bool {
        deletingFiles.insert(id)
        durable.remove(id)
        guard await durable.caughtUp() else {
            LoopActor.start { [self] in
                await durable.durable()
                await leave(id)
            }
            return false
        }
        await leave(id)
        return true
    }

    /// The store has forgotten a file.
    private func leave(_ id: FileID) async {
        let folder = parts.folder
        deletingFiles.remove(id)
        stagedFiles[id] = nil
        damagedFiles[id] = nil
        fileQuota.release(id)
        do {
            try await parts.files.run { try folder.remove(id) }
            room.look()
        } catch {
            // The next start sweeps up what has no record.
            log.write(.error, "a staged file cannot be removed", ["error": .words("\(error)")])
        }
    }

    /// Forgets files that nobody has used for their time to live, unless a live task sends them.
    func purgeFiles() async {
        let expired = stagedFiles.values.filter { timeToLive(of: $0) == .zero }
        guard !expired.isEmpty else { return }
        let sent = directory.runners.values.compactMap { $0.record.currentRequest.body?.file }
        let used = Set(sent).union(fileUploads.keys)
        for file in expired where !used.contains(file.id) && !deletingFiles.contains(file.id) {
            await forget(file.id)
        }
    }

    /// Holds the records against what the disk has, at a start.
    ///
    /// A file that is shorter than its record says is damaged: its upload begins at zero.
    func recoverFiles() async {
        let (folder, files) = (parts.folder, Array(stagedFiles.values))
        guard !files.isEmpty else { return }
        do {
            let damaged = try await parts.files.run {
                try files.filter { file in
                    if try folder.holds(file) { return false }
                    try folder.remove(file.id)
                    return true
                }
            }
            for var file in damaged {
                log.write(
                    .error, "a staged file is damaged: its upload begins anew",
                    ["file": .name("\(file.id)"), "length": .number(Int(file.length))])
                file.length = 0
                file.isComplete = false
                stagedFiles[file.id] = file
                fileQuota.fit(file)
                durable.save(file)
            }
        } catch {
            log.write(.error, "staged files cannot be looked at", ["error": .words("\(error)")])
        }
    }

    /// Ends all uploads with what has come; the gateway is about to stop.
    func endUploads() async {
        let ending = fileUploads.values.map { upload in
            LoopActor.start { await upload.end(.uploadSuperseded) }
        }
        for task in ending { await task.value }
    }
}

extension BodyRecord {
    /// The staged file that it is.
    fileprivate var file: FileID? {
        if case .file(let id, _) = self { id } else { nil }
    }
}
