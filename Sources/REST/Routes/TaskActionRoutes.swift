internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// Tasks that are made again, and what is done to many at once.
extension Service {
    /// A new task of the same request.
    func retryTask(_ call: Call) async throws -> Response {
        let id = try call.task()
        let fields = try FieldSelection(call)
        return try await answer(
            try await call.createOnce([], at: gateway) { ticket in
                try await retry(id, as: ticket, call, if: { call.isWanted })
            }, to: call, only: fields)
    }

    /// Does the same to tasks that are named, or that a filter finds: 500 of them at most.
    func actOnTasks(_ call: Call) async throws -> Response {
        let bytes = try await call.jsonBytes() ?? []
        let draft = try await Call.reading(bytes) { reader throws(JSONError) in
            try TaskActionDraft(&reader)
        }
        // One that is malformed is refused before anything is done.
        _ = try call.idempotencyKey()
        let names: [String]
        var next: TaskID?
        switch draft.subject {
        case .tasks(let named): names = named
        case .filter(let selection, let after) where draft.action == .retry:
            let found = try await tasksToRetry(selection, after, bytes, call)
            names = found.tasks.map(\.description)
            next = found.next
        case .filter(let selection, let after):
            let list = try await tasks(selection, after, for: draft.action, call)
            // What cannot be read can only be deleted.
            let damaged = draft.action == .delete ? list.damaged : []
            names = (list.views.map(\.record.id) + damaged).sorted().map(\.description)
            next = list.next
        }
        let results = await call.whileWanted { isWanted in
            await gateway.tasks.perform(
                draft.action, on: names.compactMap(TaskID.init), of: call.tenant, while: isWanted
            ) { [self] id in
                try await retry(id, bytes, call, if: isWanted)
            }
        }
        let byTask = Dictionary(results.map { ($0.task, $0.result) }) { first, _ in first }
        let list = JSONList("results", names) { [self] name, json in
            let result =
                TaskID(name).flatMap { byTask[$0] } ?? .failure(GatewayError.noSuchTask)
            write(result, of: name, to: &json)
        }
        return await .lists(list, capacity: 128 * names.count + 64) { json in
            guard case .filter = draft.subject else { return }
            json.member("more", next != nil)
            json.member("nextCursor", next?.description)
        }
    }

    /// The tasks that a filter finds to be made again, in the order of their creation; with a key
    /// those that the first request with it has found.
    ///
    /// They are sought from the newest on: so a page is never about tasks that have been made for
    /// an earlier one, however soon those fail.
    private func tasksToRetry(
        _ selection: TaskSelection, _ after: TaskID?, _ bytes: [UInt8], _ call: Call
    ) async throws -> (tasks: [TaskID], next: TaskID?) {
        let creation = try await call.createOnce(bytes, at: gateway) { ticket in
            let list = try await tasks(selection, after, for: .retry, call)
            // What comes behind them is kept in front of them, 0 for nothing.
            let found = [list.next?.rawValue ?? 0] + list.views.reversed().map(\.record.id.rawValue)
            if let ticket { try await gateway.creations.keep(found, under: ticket) }
            return found
        }
        let found =
            switch creation {
            case .new(let numbers), .earlier(let numbers): numbers
            }
        return (
            found.dropFirst().map(TaskID.init),
            found.first.flatMap { $0 == 0 ? nil : TaskID(rawValue: $0) }
        )
    }

    /// The tasks that a filter finds: the oldest first, or to be made again the newest.
    private func tasks(
        _ selection: TaskSelection, _ after: TaskID?, for action: TaskAction, _ call: Call
    ) async throws -> TaskList {
        var selection = selection
        guard selection.findHost(parse) else {
            throw ProblemCode.invalidValue.problem(
                "The value \(HostName.rule).", at: "/filter/host")
        }
        var session: SessionID?
        if let name = selection.session {
            do {
                let id = try await self.session(named: name, of: call.tenant)
                session = try gateway.sessions.record(id, of: call.tenant).id
            } catch  where problem(for: error).status == 404 {
                throw ProblemCode.invalidValue.problem(
                    "There is no such session.", at: "/filter/session")
            }
        }
        var query = selection.query(
            of: call.tenant, in: session, usualStates: action.usualStates,
            limit: TaskActionDraft.taskLimit)
        query.order = action == .retry ? .newestFirst : .oldestFirst
        query.after = after
        return try await gateway.tasks.list(query)
    }

    /// Makes one of many again; with a key each of them once, however often the request comes.
    private func retry(
        _ id: TaskID, _ bytes: [UInt8], _ call: Call, if isWanted: @LoopActor () -> Bool
    ) async throws -> TaskID {
        let creation = try await call.createOnce(bytes, element: id.description, at: gateway) {
            try await retry(id, as: $0, call, if: isWanted)
        }
        switch creation {
        case .new(let view): return view.record.id
        case .earlier(let numbers): return try await task(numbers.first ?? 0, for: call).record.id
        }
    }

    private func retry(
        _ id: TaskID, as ticket: CreationTicket?, _ call: Call, if isWanted: @LoopActor () -> Bool
    ) async throws(GatewayError) -> TaskView {
        try await gateway.tasks.retry(
            id, of: call.tenant, requestID: call.request.id, traceContext: call.traceContext,
            as: ticket, if: isWanted)
    }

    private func write(
        _ result: Result<TaskActionResult.Outcome, any Error>, of name: String,
        to json: inout JSONWriter
    ) {
        json.object { json in
            json.member("task", name)
            switch result {
            case .success(.done): json.member("status", 200)
            case .success(.deleted): json.member("status", 204)
            case .success(.created(let task)):
                json.member("status", 201)
                json.member("created", task.description)
            case .failure(let error):
                let problem = problem(for: error)
                json.member("status", problem.status)
                json.object("problem") { problem.writeMembers(to: &$0) }
            }
        }
    }
}

/// What is to be done to which tasks (`TaskActionRequest` of openapi.yaml).
private struct TaskActionDraft: Sendable {
    enum Subject: Sendable {
        /// As the client names them.
        case tasks([String])
        case filter(TaskSelection, after: TaskID?)
    }

    /// How many tasks one request is about.
    static let taskLimit = 500

    let action: TaskAction
    let subject: Subject

    init(_ reader: inout JSONReader) throws(JSONError) {
        var action: TaskAction?
        var names: [String]?
        var selection: TaskSelection?
        var after: TaskID?
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "action":
                let choice: TaskAction = try reader.choice()
                action = choice
            case "tasks": names = try Self.names(&reader)
            case "filter": selection = try TaskSelection(&reader)
            case "cursor":
                after = TaskID(try reader.string())
                if after == nil { throw reader.fail("must be a nextCursor") }
            default: throw reader.unknownMember(name)
            }
        }
        guard let action else { throw reader.fail("is missing", at: "action") }
        self.action = action
        switch (names, selection) {
        case (let names?, nil):
            guard after == nil else { throw reader.fail("goes with a filter only", at: "cursor") }
            subject = .tasks(names)
        case (nil, let selection?): subject = .filter(selection, after: after)
        case (nil, nil): throw reader.fail("is missing, and so is a filter", at: "tasks")
        case (.some, .some): throw reader.fail("does not go with tasks", at: "filter")
        }
    }

    private static func names(_ reader: inout JSONReader) throws(JSONError) -> [String] {
        var names: [String] = []
        var known: Set<String> = []
        try reader.array(limit: taskLimit) { r throws(JSONError) in
            let name = try r.string(byteLimit: 64)
            guard known.insert(name).inserted else { throw r.fail("must not be there twice") }
            names.append(name)
        }
        return names
    }
}
