internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// What a task sends, as a client describes it (`Body` of openapi.yaml), read but not judged
/// (S-37).
enum BodyDraft {
    /// The bytes themselves, and the media type that goes with their form.
    case bytes([UInt8], type: String?)
    /// A staged file's id.
    case file(String)
    /// A task's id.
    case task(String)
    case stream(length: Int64)

    /// Whether the gateway has it, however long the task takes.
    var isKept: Bool {
        switch self {
        case .file, .task: true
        case .bytes, .stream: false
        }
    }

    /// Reads an object with one member.
    init(_ reader: inout JSONReader) throws(JSONError) {
        guard let draft = try BodyDraft(&reader, orShown: false) else {
            throw reader.fail("must have exactly one member")
        }
        self = draft
    }

    /// Reads an object with one member, or the body of a request as it is shown, which is none of
    /// its own: nil.
    init?(_ reader: inout JSONReader, orShown: Bool) throws(JSONError) {
        var draft: BodyDraft?
        var count = 0
        var isShown = false
        try reader.object { reader, name throws(JSONError) in
            count += 1
            switch name {
            case "data": draft = .bytes(try reader.base64(), type: nil)
            case "text":
                draft = .bytes(
                    Array(try reader.string().utf8), type: "text/plain; charset=utf-8")
            case "json": draft = .bytes(try reader.rawValue(), type: "application/json")
            case "file": draft = .file(try reader.string())
            case "task": draft = .task(try reader.string())
            case "stream": draft = .stream(length: try BodyDraft.length(&reader))
            case "kind" where orShown:
                guard BodyDraft.shownKinds.contains(try reader.string()) else {
                    throw reader.fail("must be a kind of body")
                }
                isShown = true
            default: throw reader.unknownMember(name)
            }
        }
        if isShown {
            switch draft {
            case nil: return nil
            case .file(let text) where FileID(text) != nil: return nil
            case .task(let text) where TaskID(text) != nil: return nil
            default: throw reader.fail("must be a body as it was shown")
            }
        }
        guard let draft, count == 1 else { throw reader.fail("must have exactly one member") }
        self = draft
    }

    /// See `BodyRecord.write`.
    private static let shownKinds = ["data", "file", "task", "stream"]

    private static func length(_ reader: inout JSONReader) throws(JSONError) -> Int64 {
        var length = unknownSize
        try reader.object { reader, name throws(JSONError) in
            guard name == "contentLength" else { throw reader.unknownMember(name) }
            length = try reader.int64(in: unknownSize ... .max)
        }
        return length
    }

    /// What is sent, and its media type for a request that names none (S-38).
    ///
    /// - Parameters:
    ///   - pointer: where the description stands.
    ///   - context: whose task it is, and in which session.
    /// - Returns: the body; nil for the type of bytes that only their client knows.
    /// - Throws: 422 for what is not the tenant's, not there or not whole.
    @LoopActor
    func record(
        at pointer: String, in context: TaskContext
    ) async throws(Problem) -> (body: BodyRecord, type: String?) {
        switch self {
        case .bytes(let bytes, let type): return (.bytes(bytes), type)
        case .file(let text): return try context.file(text, at: pointer + "/file")
        case .task(let text): return try await context.content(of: text, at: pointer + "/task")
        case .stream(let length):
            guard context.session.delegate?.handles.contains(.bodyStream) == true else {
                throw ProblemCode.delegateRequired.problem(
                    "A streamed body takes a session whose delegate.handles names bodyStream.",
                    at: pointer + "/stream")
            }
            return (.stream(length: length), nil)
        }
    }
}

/// What the description of a task is judged against.
@LoopActor
struct TaskContext {
    let session: SessionRecord
    let tenant: TenantID
    let gateway: Gateway
    let transport: any Transport
    /// What the request is called; empty where it creates nothing.
    var requestID = ""
    /// The trace that it belongs to.
    var traceContext: TraceContext?

    /// A staged file, with its own media type.
    fileprivate func file(
        _ text: String, at pointer: String
    ) throws(Problem) -> (body: BodyRecord, type: String?) {
        let file: StagedFile
        do throws(GatewayError) {
            guard let id = FileID(text) else { throw .noSuchFile }
            file = try gateway.files.open(id, of: tenant).file
        } catch .noSuchFile {
            throw ProblemCode.invalidValue.problem("There is no such file.", at: pointer)
        } catch .uploadIncomplete {
            throw ProblemCode.invalidValue.problem("The file is not complete.", at: pointer)
        } catch {
            throw Problem(error)
        }
        return (.file(file.id, length: file.length), TaskContext.sendable(file.mediaType))
    }

    /// The content of another task, with the media type that its origin gave it.
    fileprivate func content(
        of text: String, at pointer: String
    ) async throws(Problem) -> (body: BodyRecord, type: String?) {
        let record: TaskRecord
        do throws(GatewayError) {
            guard let id = TaskID(text) else { throw .noSuchTask }
            record = try await gateway.tasks.read(id, of: tenant).record
        } catch .noSuchTask {
            throw ProblemCode.invalidValue.problem("There is no such task.", at: pointer)
        } catch {
            throw Problem(error)
        }
        guard let content = record.content else {
            throw ProblemCode.invalidValue.problem("The task has no content.", at: pointer)
        }
        guard !content.isPart else {
            throw ProblemCode.invalidValue.problem(
                "The task failed, and its content is not whole.", at: pointer)
        }
        let type = record.response?.headers.first("Content-Type")
        return (.task(record.id, length: content.length), TaskContext.sendable(type))
    }

    /// A media type that may go into a request; bytes of no known type otherwise.
    private static func sendable(_ type: String?) -> String {
        guard let type, MediaType(parsing: type) != nil, !HeaderRules.containsControl(type) else {
            return "application/octet-stream"
        }
        return type
    }
}
