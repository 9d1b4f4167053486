internal import Engine
internal import HTTP
internal import Loop
internal import Semantics

/// What a description of a task must hold to.
extension TaskDraft {
    /// The task that is asked for.
    ///
    /// - Parameters:
    ///   - prefix: where the description stands in the request, for pointers.
    ///   - context: whose task it is, and in which session.
    /// - Returns: the task, with every member checked.
    /// - Throws: the 422 of the first member that is wrong or not supported yet.
    @LoopActor
    func spec(at prefix: String, in context: TaskContext) async throws(Problem) -> TaskSpec {
        if context.session.isBackground { try checkForBackground(at: prefix) }
        let options = try checkedOptions(at: prefix, in: context)
        if let resumeData {
            return try resumed(from: resumeData, options, at: prefix, in: context)
        }
        let request = try await wholeRequest(at: prefix, in: context)
        if options.connections > 1, request.method != "GET" {
            throw ProblemCode.invalidValue.problem(
                "Ranges are fetched with GET only.", at: prefix + "/connections")
        }
        return TaskSpec(type: type, request: request, options: options, resume: resume)
            .asked(for: context)
    }

    /// S-50: what goes on without its client is fetched to a file, or comes from one.
    private func checkForBackground(at prefix: String) throws(Problem) {
        guard type != .data else {
            throw ProblemCode.notInBackground.problem(
                "A background session has downloads and uploads only.", at: prefix + "/type")
        }
        guard body?.isKept ?? (type != .upload) else {
            throw ProblemCode.notInBackground.problem(
                "A background session sends staged files, and contents of tasks, only.",
                at: prefix + "/body")
        }
        if options.delivery == .stream {
            throw ProblemCode.notInBackground.problem(
                "A background session keeps what it fetches.", at: prefix + "/delivery")
        }
    }

    /// S-36: the request and all that has been fetched come from the blob.
    @LoopActor
    private func resumed(
        from resumeData: String, _ options: TaskOptions, at prefix: String, in context: TaskContext
    ) throws(Problem) -> TaskSpec {
        guard type == .download else {
            throw ProblemCode.invalidValue.problem(
                "Only a download goes on from resume data.", at: prefix + "/resumeData")
        }
        guard request == nil else {
            throw ProblemCode.invalidValue.problem(
                "The request comes from the resume data.", at: prefix + "/request")
        }
        guard body == nil else {
            throw ProblemCode.invalidValue.problem(
                "A download that is resumed sends no body.", at: prefix + "/body")
        }
        do {
            let (request, checkpoint) = try context.gateway.tasks.checkpoint(
                in: resumeData, of: context.tenant)
            return TaskSpec(
                type: type, request: request, options: options, resume: resume,
                checkpoint: checkpoint
            ).asked(for: context)
        } catch {
            var problem = Problem(error)
            problem.pointer = prefix + "/resumeData"
            throw problem
        }
    }

    @LoopActor
    private func wholeRequest(
        at prefix: String, in context: TaskContext
    ) async throws(Problem) -> RequestRecord {
        guard let request else {
            throw ProblemCode.invalidValue.problem("The value is missing.", at: prefix + "/request")
        }
        let transport = context.transport
        let additional = context.session.configuration.httpAdditionalHeaders
        var record = try request.record(
            at: prefix + "/request", method: type == .upload ? "PUT" : "GET",
            joining: additional.fields.map(\.name)
        ) { text throws(URLRejection) in try transport.parse(text) }
        // An upload of nothing, as `fromData: nil` is one, sends an empty body.
        guard let body = body ?? (type == .upload ? .bytes([], type: nil) : nil) else {
            record.body = try request.body(nil, at: prefix + "/request")
            return record
        }
        if ["GET", "HEAD"].contains(record.method) {
            throw ProblemCode.invalidValue.problem(
                "A \(record.method) request has no body; name another method.",
                at: prefix + "/body")
        }
        let (content, mediaType) = try await body.record(at: prefix + "/body", in: context)
        record.body = try request.body(content, at: prefix + "/request")
        record.describeBody(mediaType, in: context.session)
        return record
    }

    @LoopActor
    private func checkedOptions(
        at prefix: String, in context: TaskContext
    ) throws(Problem) -> TaskOptions {
        var options = options
        if let expectedDigest {
            do {
                options.expectedDigest = try ContentDigest(parsing: expectedDigest)
            } catch {
                throw ProblemCode.invalidValue.problem(
                    "The value must be like sha-256=:…: (RFC 9530), with sha-256 or sha-512.",
                    at: prefix + "/expectedDigest")
            }
        }
        if let name = options.fileName, SuggestedFilename.sanitized(name) != name {
            throw ProblemCode.invalidValue.problem(
                "The value must be a plain file name of at most 255 bytes.",
                at: prefix + "/fileName")
        }
        if options.delivery == .stream { try checkStreaming(options, at: prefix, in: context) }
        if type != .download {
            guard options.connections == 1 else {
                throw ProblemCode.invalidValue.problem(
                    "Only a download is fetched in ranges.", at: prefix + "/connections")
            }
            guard mirrors.isEmpty else {
                throw ProblemCode.invalidValue.problem(
                    "Only a download has mirrors.", at: prefix + "/mirrors")
            }
            guard destination == nil else {
                throw ProblemCode.invalidValue.problem(
                    "Only a download is saved in a folder.", at: prefix + "/destination")
            }
        }
        options.mirrors = try checkedMirrors(at: prefix, in: context)
        options.destination = try destination?.destination(
            at: prefix + "/destination", among: context.gateway.contents.saveFolderNames)
        options.retry = try retry?.policy(at: prefix + "/retry")
        return options
    }

    @LoopActor
    private func checkStreaming(
        _ options: TaskOptions, at prefix: String, in context: TaskContext
    ) throws(Problem) {
        guard type == .data else {
            throw ProblemCode.invalidValue.problem(
                "Only a data task's content can be streamed.", at: prefix + "/delivery")
        }
        guard context.session.delegate?.data != .inline else {
            throw ProblemCode.invalidValue.problem(
                "The session delivers data inline, which needs delivery \"collect\".",
                at: prefix + "/delivery")
        }
        guard options.expectedDigest == nil, !options.computeDigest else {
            throw ProblemCode.invalidValue.problem(
                "A digest needs delivery \"collect\": "
                    + "bytes that are gone cannot be taken back.",
                at: prefix + "/delivery")
        }
    }

    @LoopActor
    private func checkedMirrors(
        at prefix: String, in context: TaskContext
    ) throws(Problem) -> [WebURL] {
        var urls: [WebURL] = []
        for (index, text) in mirrors.enumerated() {
            do {
                urls.append(try context.transport.parse(text))
            } catch {
                throw Problem(error, at: "\(prefix)/mirrors/\(index)")
            }
        }
        return urls
    }
}

extension TaskSpec {
    /// The same, with what is known of the request that asks for it.
    @LoopActor
    fileprivate func asked(for context: TaskContext) -> TaskSpec {
        var spec = self
        spec.requestID = context.requestID
        spec.traceContext = context.traceContext
        return spec
    }
}
