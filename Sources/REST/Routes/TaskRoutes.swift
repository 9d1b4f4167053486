internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

extension Service {
    /// How many tasks one request may create.
    private static let arrayLimit = 500

    func createTasks(_ call: Call) async throws -> Response {
        let session = try await session(of: call)
        let inline = try gateway.sessionRecord(session, of: call.tenant).delegate?.data == .inline
        let bytes = try await call.jsonBytes() ?? []
        let drafts = try TaskDrafts(bytes, limit: Service.arrayLimit)
        switch drafts {
        case .one(let draft):
            let spec = try spec(of: draft, at: "", inline: inline)
            if let answer = call.request.queryValue("answer") {
                guard answer == "content" else {
                    throw Call.invalid("answer", "must be \"content\"")
                }
                return try await answerWithContent(spec, session, call)
            }
            return try await createOne(spec, session, call)
        case .many(let drafts):
            guard call.request.queryValue("answer") == nil else {
                throw Call.invalid("answer", "needs one task, not an array")
            }
            return try await createMany(drafts, session, inline: inline, call)
        }
    }

    private func createOne(
        _ spec: TaskSpec, _ session: SessionID, _ call: Call
    ) async throws -> Response {
        var view = try await gateway.createTasks([spec], in: session, of: call.tenant)[0]
        let wait = call.wait
        if let wait {
            view = try await gateway.task(view.record.id, of: call.tenant, completedWithin: wait)
        }
        var headers = call.applied(wait)
        headers.add("Location", "/v1/tasks/\(view.record.id)")
        return .json(201, headers: headers, capacity: 2048) { write(view, to: &$0) }
    }

    private func createMany(
        _ drafts: [Result<TaskDraft, JSONError>], _ session: SessionID, inline: Bool, _ call: Call
    ) async throws -> Response {
        var specs: [TaskSpec] = []
        var problems: [Int: Problem] = [:]
        for (index, draft) in drafts.enumerated() {
            do throws(Problem) {
                switch draft {
                case .success(let draft):
                    specs.append(try spec(of: draft, at: "/\(index)", inline: inline))
                case .failure(let error): throw Problem(error)
                }
            } catch {
                problems[index] = error
            }
        }
        let views = try await gateway.createTasks(specs, in: session, of: call.tenant)
        var created = views.makeIterator()
        return .json(capacity: 1024 * drafts.count) { json in
            json.object { json in
                json.array("results") { json in
                    for index in drafts.indices {
                        json.object { json in
                            if let problem = problems[index] {
                                json.member("status", problem.status)
                                json.object("problem") { problem.writeMembers(to: &$0) }
                            } else if let view = created.next() {
                                json.member("status", 201)
                                json.name("task")
                                write(view, to: &json)
                            }
                        }
                    }
                }
            }
        }
    }

    func listTasks(_ call: Call) async throws -> Response {
        let limit = try call.number("limit", in: 1...500, default: 100)
        var query = TaskQuery(tenant: call.tenant, limit: limit + 1)
        if call.request.parameters["session"] != nil { query.session = try await session(of: call) }
        query.after = try call.cursor(TaskID.self)
        if let text = call.request.queryValue("state") {
            query.states = try Service.states(text)
        }
        if let text = call.request.queryValue("type") {
            query.types = try Service.choices(text, of: TaskType.self, named: "type")
        }
        let isGrouped = try Service.isGrouped(call)
        let views = try await gateway.tasks(query)
        let page = views.prefix(limit)
        return .json(capacity: 1024 * page.count + 64) { json in
            json.object { json in
                if isGrouped {
                    writeGroup("dataTasks", .data, page, to: &json)
                    writeGroup("uploadTasks", .upload, page, to: &json)
                    writeGroup("downloadTasks", .download, page, to: &json)
                } else {
                    json.array("tasks") { json in for view in page { write(view, to: &json) } }
                }
                json.member(
                    "nextCursor", views.count > limit ? page.last?.record.id.description : nil)
            }
        }
    }

    /// What is polled most: a task in memory, without `Prefer`.
    func showTaskAtHand(_ call: Call) throws -> Response? {
        guard call.request.header("prefer") == nil else { return nil }
        let id = try call.task()
        if let bytes = rendered.bytes(of: id, for: call.tenant, gateway.forgetting) {
            return Service.answer(bytes)
        }
        return gateway.taskAtHand(id, of: call.tenant).map(answer)
    }

    func showTask(_ call: Call) async throws -> Response {
        let id = try call.task()
        guard let wait = call.wait else {
            return answer(try await gateway.task(id, of: call.tenant))
        }
        let view = try await gateway.task(id, of: call.tenant, completedWithin: wait)
        return .json(headers: call.applied(wait), capacity: 2048) { write(view, to: &$0) }
    }

    func changeTask(_ call: Call) async throws -> Response {
        let id = try call.task()
        var change = TaskChange()
        var notYet: String?
        try await call.json { reader throws(JSONError) in
            try reader.object { reader, name throws(JSONError) in
                switch name {
                case "priority": change.priority = try reader.double(in: 0...1)
                case "description":
                    change.description = .some(try reader.optionalString())
                    if case .some(.some(let text)) = change.description, text.utf8.count > 1024 {
                        throw reader.fail("must not be longer than 1,024 bytes")
                    }
                case "earliestBeginDate":
                    change.earliestBeginDate = .some(
                        try reader.optional { r throws(JSONError) in
                            Timestamp(milliseconds: try r.instant())
                        })
                case "maximumBytesPerSecond":
                    try reader.skipValue()
                    notYet = "/maximumBytesPerSecond"
                default: throw reader.unknownMember(name)
                }
            }
        }
        if let notYet {
            throw ProblemCode.notYetSupported.problem("Rate limits come later.", at: notYet)
        }
        let view = try await gateway.change(id, of: call.tenant, change)
        rendered.drop(id)
        return .json(capacity: 2048) { write(view, to: &$0) }
    }

    func deleteTask(_ call: Call) async throws -> Response {
        try await gateway.delete(call.task(), of: call.tenant)
        return Response(status: 204)
    }

    func resumeTask(_ call: Call) async throws -> Response {
        try await refuseBody(call)
        let view = try await gateway.resume(call.task(), of: call.tenant)
        return .json(capacity: 2048) { write(view, to: &$0) }
    }

    func suspendTask(_ call: Call) async throws -> Response {
        try await refuseBody(call)
        let view = try await gateway.suspend(call.task(), of: call.tenant)
        return .json(capacity: 2048) { write(view, to: &$0) }
    }

    /// S-33. `producingResumeData` comes later: only its default is taken.
    func cancelTask(_ call: Call) async throws -> Response {
        let id = try call.task()
        if let bytes = try await call.jsonBytes() {
            var producesResumeData = false
            do throws(JSONError) {
                try JSONReader.read(bytes) { reader throws(JSONError) in
                    try reader.object { reader, name throws(JSONError) in
                        guard name == "producingResumeData" else {
                            throw reader.unknownMember(name)
                        }
                        producesResumeData = try reader.bool()
                    }
                }
            } catch {
                throw Problem(error)
            }
            if producesResumeData {
                throw ProblemCode.notYetSupported.problem(
                    "Resume data comes later.", at: "/producingResumeData")
            }
        }
        let view = try await gateway.cancel(id, of: call.tenant)
        return .json(capacity: 2048) { write(view, to: &$0) }
    }

    // MARK: Parts

    /// The task as it is polled. What has completed is rendered once: only its description can
    /// change.
    private func answer(_ view: TaskView) -> Response {
        var json = JSONWriter(capacity: 2048)
        write(view, to: &json)
        let bytes = json.finish()
        if view.record.state == .completed { rendered.keep(bytes, of: view.record) }
        return Service.answer(bytes)
    }

    private static func answer(_ json: [UInt8]) -> Response {
        Response(status: 200, headers: pollHeaders, body: .bytes(json))
    }

    private static let pollHeaders: HeaderFields = [
        "Content-Type": "application/json", "Cache-Control": "no-store",
    ]

    func write(_ view: TaskView, to json: inout JSONWriter) {
        view.write(to: &json, sharedSession: gateway.isShared(view.record.session))
    }

    private func writeGroup(
        _ name: StaticString, _ type: TaskType, _ views: ArraySlice<TaskView>,
        to json: inout JSONWriter
    ) {
        json.array(name) { json in
            for view in views where view.record.type == type { write(view, to: &json) }
        }
    }

    private func spec(of draft: TaskDraft, at prefix: String, inline: Bool) throws(Problem)
        -> TaskSpec
    {
        let transport = transport
        return try draft.spec(at: prefix, inline: inline) { text throws(URLRejection) in
            try transport.parse(text)
        }
    }

    /// An operation without a description takes none, so that nobody believes in what is ignored.
    private func refuseBody(_ call: Call) async throws {
        guard let bytes = try await call.jsonBytes() else { return }
        do throws(JSONError) {
            try JSONReader.read(bytes) { reader throws(JSONError) in
                try reader.object { reader, name throws(JSONError) in
                    throw reader.unknownMember(name)
                }
            }
        } catch {
            throw Problem(error)
        }
    }

    private static func states(_ text: String) throws(Problem) -> Set<TaskState> {
        text == "all"
            ? Set(TaskState.allCases) : try choices(text, of: TaskState.self, named: "state")
    }

    private static func choices<Choice: RawRepresentable<String> & CaseIterable & Hashable>(
        _ text: String, of type: Choice.Type, named name: String
    ) throws(Problem) -> Set<Choice> {
        var choices: Set<Choice> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let choice = Choice(rawValue: String(word)) else {
                let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
                throw Call.invalid(name, "must be of \(names)")
            }
            choices.insert(choice)
        }
        return choices
    }

    private static func isGrouped(_ call: Call) throws(Problem) -> Bool {
        guard let group = call.request.queryValue("group") else { return false }
        guard group == "type" else { throw Call.invalid("group", "must be \"type\"") }
        return true
    }
}

/// The body of a creation: one task, or many.
private enum TaskDrafts {
    case one(TaskDraft)
    case many([Result<TaskDraft, JSONError>])

    init(_ bytes: [UInt8], limit: Int) throws(Problem) {
        do throws(JSONError) {
            self = try JSONReader.read(bytes) { reader throws(JSONError) -> TaskDrafts in
                guard try reader.peekKind() == .array else { return .one(try TaskDraft(&reader)) }
                var drafts: [Result<TaskDraft, JSONError>] = []
                try reader.array { reader throws(JSONError) in
                    guard drafts.count < limit else {
                        throw reader.fail("must not be beyond the first \(limit)")
                    }
                    drafts.append(
                        try reader.result { r throws(JSONError) in try TaskDraft(&r) })
                }
                return .many(drafts)
            }
        } catch {
            throw Problem(error)
        }
    }
}
