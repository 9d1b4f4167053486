internal import Contract
internal import Diagnostics
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// Staged files: sent ahead of the task that uploads them, and resumable
/// (draft-ietf-httpbis-resumable-upload).
///
/// Interim answers (104) are not sent; the draft leaves them to the server.
extension Service {
    /// With bytes, a whole file or its beginning; without, a file to append to.
    func createFile(_ call: Call) async throws -> Response {
        let fields = UploadFields(call.request.headers)
        let body = call.request.body
        let order = FileAppend(
            offset: 0, length: body.declaredLength, completes: fields.isComplete ?? !body.isEmpty,
            announcedLength: fields.length, expectedDigest: try call.representationDigest())
        let spec = StagedFileSpec(
            announcedLength: try order.total(), expectedDigest: order.expectedDigest,
            mediaType: try call.mediaType())
        let creation = try await call.createOnce(spec.identity(with: order), at: gateway) {
            try await gateway.files.create(spec, of: call.tenant, as: $0)
        }
        switch creation {
        case .new(let file):
            let isOpened = body.isEmpty && !order.completes
            let whole = isOpened ? file : try await fill(file, order, call, fields)
            return created(whole, [:])
        case .earlier(let numbers):
            let file = try await earlierFile(numbers.first ?? 0, for: call)
            return created(file, IdempotencyKey.replayed)
        }
    }

    /// Takes the bytes of the request that creates a file. What came of them stays where the client
    /// can come back to it: one that knows of resumable uploads is told of the file, and one with a
    /// key finds it by that.
    private func fill(
        _ file: StagedFile, _ order: FileAppend, _ call: Call, _ fields: UploadFields
    ) async throws -> StagedFile {
        do throws(UploadInterruption) {
            return try await gateway.files.append(
                order, to: file.id, of: call.tenant, from: call.bytes)
        } catch {
            guard try fields.isComplete != nil || call.idempotencyKey() != nil else {
                if error.file != nil { await dropRefused(file.id, of: call.tenant) }
                throw error.refusal
            }
            var problem = error.problem
            if error.file != nil { problem.headers.add("Location", "/v1/files/\(file.id)") }
            throw problem
        }
    }

    /// Deletes a file that nobody can come back to. That it cannot be is not what its client is to
    /// hear: the file goes when it has not been used for a time.
    private func dropRefused(_ file: FileID, of tenant: TenantID) async {
        do throws(GatewayError) {
            try await gateway.files.delete(file, of: tenant)
        } catch {
            log.write(
                .warning, "a staged file that was refused cannot be deleted yet",
                ["file": .name("\(file)"), "error": .words("\(error)")])
        }
    }

    /// A file that an earlier request has created, as far as it has come.
    private func earlierFile(_ number: Int64, for call: Call) async throws(Problem) -> StagedFile {
        try await call.earlier("file") { () throws(GatewayError) in
            try await gateway.files.read(FileID(rawValue: number), of: call.tenant)
        }
    }

    private func created(_ file: StagedFile, _ more: HeaderFields) -> Response {
        var headers = uploadState(of: file)
        headers.add("Location", "/v1/files/\(file.id)")
        headers.add(contentsOf: more)
        return .json(201, headers: headers) {
            file.write(to: &$0, expiresAt: gateway.files.expiry(of: file))
        }
    }

    /// The tenant's files, each with the length that is there for good.
    func listFiles(_ call: Call) async throws -> Response {
        let limit = try call.number("limit", in: 1...500, default: 100)
        let files = await gateway.files.list(
            of: call.tenant, after: try call.cursor(FileID.self), limit: limit + 1)
        return await .lists(
            JSONList("files", files.prefix(limit)) { [gateway] file, json in
                file.write(to: &json, expiresAt: gateway.files.expiry(of: file))
            },
            last: { json in
                json.member(
                    "nextCursor", files.count > limit ? files[limit - 1].id.description : nil)
            })
    }

    /// GET reads a complete file; HEAD tells how far an upload is. For one who may go on with it,
    /// that ends an earlier request that still appends; a token that only reads ends nothing.
    func readFile(_ call: Call) async throws -> Response {
        let id = try call.file()
        guard call.request.method != "HEAD" else {
            let mayAppend = call.principal.scopes.contains(.tasks)
            let file =
                mayAppend
                ? try await gateway.files.read(id, of: call.tenant)
                : try gateway.files.record(id, of: call.tenant)
            var headers = uploadState(of: file)
            if let length = file.isComplete ? file.length : file.announcedLength {
                headers.add("Upload-Length", String(length))
            }
            headers.add("Cache-Control", "no-store")
            return Response(status: 204, headers: headers)
        }
        let access = try gateway.files.open(id, of: call.tenant)
        let content = RangedContent(
            headers: .ofStrangersBytes(
                access.file.mediaType, named: id.description,
                digest: access.file.expectedDigest?.description),
            entityTag: EntityTag(opaque: id.description),
            length: access.file.length
        ) { try await access.open($0) }
        return try await content.answer(to: call.request)
    }

    /// Appends the body at `Upload-Offset`.
    func appendToFile(_ call: Call) async throws -> Response {
        let id = try call.file()
        _ = try gateway.files.record(id, of: call.tenant)
        let fields = UploadFields(call.request.headers)
        guard let offset = fields.offset else {
            throw ProblemCode.invalidValue.problem(
                "Upload-Offset must be given once, as an integer of 0 or more.")
        }
        let order = FileAppend(
            offset: offset, length: call.request.body.declaredLength,
            completes: fields.isComplete ?? false, announcedLength: fields.length,
            expectedDigest: try call.representationDigest())
        do throws(UploadInterruption) {
            let file = try await gateway.files.append(
                order, to: id, of: call.tenant, from: call.bytes)
            return Response(status: 204, headers: uploadState(of: file))
        } catch {
            throw error.problem
        }
    }

    func deleteFile(_ call: Call) async throws -> Response {
        try await gateway.files.delete(call.file(), of: call.tenant)
        return Response(status: 204)
    }

    private func uploadState(of file: StagedFile) -> HeaderFields {
        var headers = file.uploadState
        let life = gateway.files.timeToLive(of: file).components.seconds
        headers.add("Upload-Limit", "max-size=\(gateway.files.sizeLimit), max-age=\(life)")
        return headers
    }
}

extension StagedFile {
    fileprivate var uploadState: HeaderFields {
        ["Upload-Offset": String(length), "Upload-Complete": UploadFields.text(isComplete)]
    }
}

extension StagedFileSpec {
    /// What makes a request the same as another one. Its bytes do not, because they are not
    /// kept in memory: who wants to be sure gives their digest.
    fileprivate func identity(with order: FileAppend) -> [UInt8] {
        let parts: [String] = [
            order.length.map { String($0) } ?? "", order.completes ? "complete" : "",
            announcedLength.map { String($0) } ?? "", expectedDigest?.description ?? "",
            mediaType ?? "",
        ]
        return Array(parts.joined(separator: "\n").utf8)
    }
}

extension Call {
    /// The staged file that the path names.
    fileprivate func file() throws(Problem) -> FileID {
        guard let id = request.parameters["file"].flatMap(FileID.init) else {
            throw Problem(GatewayError.noSuchFile)
        }
        return id
    }

    /// The bytes of the body.
    fileprivate var bytes: ByteFeed {
        let body = request.body
        return ByteFeed(next: { try await body.next() }, interrupt: { body.interrupt() })
    }

    /// The media type of a file that is created, as the client writes it; nil without one.
    fileprivate func mediaType() throws(Problem) -> String? {
        guard let text = request.header("content-type") else { return nil }
        guard MediaType(parsing: text) != nil, !HeaderRules.containsControl(text) else {
            throw ProblemCode.invalidValue.problem("Content-Type is no media type.")
        }
        return text
    }
}

extension UploadInterruption {
    /// What the client is told, with the offset from which the upload can go on. Where another
    /// request has taken it up, that one is told the offset.
    fileprivate var problem: Problem {
        var problem = refusal
        guard let file else { return problem }
        if case GatewayError.uploadSuperseded = cause { return problem }
        problem.headers.add(contentsOf: file.uploadState)
        return problem
    }

    /// What the client is told of a file that is not there any more.
    fileprivate var refusal: Problem {
        switch cause {
        case let error as GatewayError: Problem(error)
        case let error as BodyError: error.problem
        default: ProblemCode.internal.problem()
        }
    }
}
