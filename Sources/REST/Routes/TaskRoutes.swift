internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

extension Service {
    func listTasks(_ call: Call) async throws -> Response {
        let limit = try call.number("limit", in: 1...500, default: 100)
        var selection = try TaskSelection(call)
        guard selection.findHost(parse) else { throw Call.invalid("host", HostName.rule) }
        let isGrouped = try Service.isGrouped(call)
        let fields = try FieldSelection(call)
        let order = try call.order()
        let after = try call.cursor(TaskID.self)
        let session =
            call.request.parameters["session"] == nil ? nil : try await session(of: call)
        // Only what has completed has an error, or has none for good.
        var query = selection.query(
            of: call.tenant, in: session,
            usualStates: selection.filter.hasError == nil
                ? [.suspended, .running, .canceling] : [.completed],
            limit: limit)
        query.order = order
        query.after = after
        let list = try await gateway.tasks.list(query)
        let capacity = FieldSelection.capacity(fields) * list.views.count + 64
        let writeCursor = { (json: inout JSONWriter) in
            json.member("nextCursor", list.next?.description)
            guard !list.damaged.isEmpty else { return }
            json.array("damaged") { json in
                for id in list.damaged { json.string(id.description) }
            }
        }
        guard isGrouped else {
            return await .lists(
                elements("tasks", list.views, fields), capacity: capacity, last: writeCursor)
        }
        return await .lists(
            elements("dataTasks", list.views.filter { $0.record.type == .data }, fields),
            elements("uploadTasks", list.views.filter { $0.record.type == .upload }, fields),
            elements("downloadTasks", list.views.filter { $0.record.type == .download }, fields),
            capacity: capacity, last: writeCursor)
    }

    private func elements(
        _ name: StaticString, _ views: [TaskView], _ fields: FieldSelection?
    ) -> JSONList {
        JSONList(name, views) { [self] view, json in write(view, to: &json, only: fields) }
    }

    /// What is polled most: a task in memory, without `Prefer`.
    func showTaskInMemory(_ call: Call) throws -> Response? {
        guard call.request.header("prefer") == nil else { return nil }
        let id = try call.task()
        let fields = try FieldSelection(call)
        if fields == nil,
            let bytes = rendered.bytes(of: id, for: call.tenant, gateway.tasks.forgetting)
        {
            return Service.answer(bytes)
        }
        return gateway.tasks.viewInMemory(id, of: call.tenant).map { poll($0, fields) }
    }

    func showTask(_ call: Call) async throws -> Response {
        let id = try call.task()
        let fields = try FieldSelection(call)
        guard let wait = call.wait else {
            return poll(try await gateway.tasks.read(id, of: call.tenant), fields)
        }
        let view = try await gateway.tasks.wait(for: id, of: call.tenant, within: wait)
        return answer(view, fields, headers: call.applied(wait))
    }

    func changeTask(_ call: Call) async throws -> Response {
        let id = try call.task()
        let fields = try FieldSelection(call)
        let change = try await call.json { reader throws(JSONError) in
            var change = TaskChange()
            try reader.object { reader, name throws(JSONError) in
                switch name {
                case "priority": change.priority = try reader.double(in: 0...1)
                case "description":
                    change.description = .some(try reader.clientDescription())
                case "metadata": change.metadata = try reader.metadataPatch()
                case "earliestBeginDate":
                    change.earliestBeginDate = .some(
                        try reader.optional { r throws(JSONError) in
                            Timestamp(milliseconds: try r.instant())
                        })
                case "maximumBytesPerSecond":
                    change.maximumBytesPerSecond = .some(try reader.byteRate())
                default: throw reader.unknownMember(name)
                }
            }
            return change
        }
        // Also of a change that is refused: on a full disk it may come to be later.
        defer { rendered.drop(id) }
        return answer(try await gateway.tasks.change(id, of: call.tenant, change), fields)
    }

    func deleteTask(_ call: Call) async throws -> Response {
        try await gateway.tasks.delete(call.task(), of: call.tenant)
        return Response(status: 204)
    }

    func resumeTask(_ call: Call) async throws -> Response {
        let fields = try FieldSelection(call)
        return answer(try await gateway.tasks.resume(call.task(), of: call.tenant), fields)
    }

    func suspendTask(_ call: Call) async throws -> Response {
        let fields = try FieldSelection(call)
        return answer(try await gateway.tasks.suspend(call.task(), of: call.tenant), fields)
    }

    /// S-33, S-34, S-55.
    func cancelTask(_ call: Call) async throws -> Response {
        let id = try call.task()
        let order = try await cancelOrder(of: call)
        guard order.isOperators else { return try await cancel(id, order, call) }
        return try await auditedAsAdmin("POST /v1/tasks/{task}/cancel", call) {
            try await requireOperator(call, of: id)
            return try await cancel(id, order, call)
        }
    }

    private func cancel(
        _ id: TaskID, _ order: CancelOrder, _ call: Call
    ) async throws -> Response {
        let fields = try FieldSelection(call)
        let reason = order.isOperators ? BackgroundCancellation.userForced : nil
        guard order.producesResumeData else {
            return answer(
                try await gateway.tasks.cancel(id, of: call.tenant, because: reason), fields)
        }
        let view = try await gateway.tasks.cancelProducingResumeData(
            id, of: call.tenant, because: reason)
        return answer(view, fields) { json in json.member("resumeData", view.record.resumeData) }
    }

    private struct CancelOrder: Sendable {
        var producesResumeData = false
        /// S-55: whether it is the operator who ends the task, and not its owner.
        var isOperators = false
    }

    private func cancelOrder(of call: Call) async throws -> CancelOrder {
        guard let bytes = try await call.jsonBytes() else { return CancelOrder() }
        return try await Call.reading(bytes) { reader throws(JSONError) in
            var order = CancelOrder()
            try reader.object { reader, name throws(JSONError) in
                switch name {
                case "producingResumeData": order.producesResumeData = try reader.bool()
                case "reason":
                    guard try reader.string() == "operator" else {
                        throw reader.fail("must be \"operator\"")
                    }
                    order.isOperators = true
                default: throw reader.unknownMember(name)
                }
            }
            return order
        }
    }

    /// Foundation knows of an operator only for the tasks of background sessions, and a token that
    /// may do what the operator does speaks for him.
    private func requireOperator(_ call: Call, of id: TaskID) async throws {
        guard call.principal.scopes.contains(.admin) else {
            throw ProblemCode.forbidden.problem("The reason \"operator\" takes the scope admin.")
        }
        let task = try await gateway.tasks.read(id, of: call.tenant).record
        guard try gateway.sessions.record(task.session, of: call.tenant).isBackground else {
            throw ProblemCode.invalidValue.problem(
                "Only tasks of background sessions are told why they end.", at: "/reason")
        }
    }

    // MARK: Parts

    /// The task as it is polled. What has completed is rendered once: only its description and
    /// its metadata can change.
    private func poll(_ view: TaskView, _ fields: FieldSelection?) -> Response {
        var json = JSONWriter(capacity: FieldSelection.capacity(fields))
        write(view, to: &json, only: fields)
        let bytes = json.finish()
        if fields == nil, view.record.state == .completed,
            gateway.tasks.isSettled(view.record.id)
        {
            rendered.keep(bytes, of: view.record)
        }
        return Service.answer(bytes)
    }

    /// The task as it is now.
    func answer(
        _ view: TaskView, _ fields: FieldSelection?, status: Int = 200,
        headers: HeaderFields = [:], and writeMore: (inout JSONWriter) -> Void = { _ in }
    ) -> Response {
        .json(status, headers: headers, capacity: FieldSelection.capacity(fields)) { json in
            write(view, to: &json, only: fields, and: writeMore)
        }
    }

    private static func answer(_ json: [UInt8]) -> Response {
        Response(status: 200, headers: pollHeaders, body: .bytes(json))
    }

    private static let pollHeaders: HeaderFields = [
        "Content-Type": "application/json", "Cache-Control": "no-store",
    ]

    func write(
        _ view: TaskView, to json: inout JSONWriter, only fields: FieldSelection? = nil,
        and writeMore: (inout JSONWriter) -> Void = { _ in }
    ) {
        view.write(
            to: &json, sharedSession: gateway.sessions.isShared(view.record.session),
            only: fields?.members, and: writeMore)
    }

    private static func isGrouped(_ call: Call) throws(Problem) -> Bool {
        guard let group = call.request.queryValue("group") else { return false }
        guard group == "type" else { throw Call.invalid("group", "must be \"type\"") }
        return true
    }
}

extension TaskRecord {
    /// What another download can go on from, once this one has ended early (S-34).
    fileprivate var resumeData: String? {
        guard case .string(let data) = self.error?.userInfo[TransferError.resumeDataKey] else {
            return nil
        }
        return data
    }
}
