internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

extension Service {
    /// How many tasks one request may create.
    nonisolated private static let arrayLimit = 500

    func createTasks(_ call: Call) async throws -> Response {
        let fields = try FieldSelection(call)
        let session = try await session(of: call)
        let context = TaskContext(
            session: try gateway.sessions.record(session, of: call.tenant), tenant: call.tenant,
            gateway: gateway, transport: transport, requestID: call.request.id,
            traceContext: call.traceContext)
        let bytes = try await call.jsonBytes() ?? []
        let drafts = try await Call.offLoop(bytes) { bytes throws(Problem) in
            try TaskDrafts(bytes, limit: Service.arrayLimit)
        }
        switch drafts {
        case .one(let draft):
            if let answer = call.request.queryValue("answer") {
                guard answer == "content" else {
                    throw Call.invalid("answer", "must be \"content\"")
                }
                if context.session.isBackground {
                    throw ProblemCode.notInBackground.problem(
                        "A background session's contents are fetched when they are there.")
                }
                guard fields == nil else {
                    throw Call.invalid("fields", "does not go with answer=content")
                }
                guard try call.idempotencyKey() == nil else {
                    throw Call.invalid("answer", "does not go with an Idempotency-Key")
                }
                let spec = try await draft.spec(at: "", in: context)
                return try await answerWithContent(spec, session, call)
            }
            return try await createOne(draft, session, context, bytes, fields, call)
        case .many(let drafts):
            guard call.request.queryValue("answer") == nil else {
                throw Call.invalid("answer", "needs one task, not an array")
            }
            return try await createMany(drafts, session, context, bytes, fields, call)
        }
    }

    private func createOne(
        _ draft: TaskDraft, _ session: SessionID, _ context: TaskContext, _ bytes: [UInt8],
        _ fields: FieldSelection?, _ call: Call
    ) async throws -> Response {
        try await answer(
            try await call.createOnce(bytes, at: gateway) { ticket in
                let spec = try await draft.spec(at: "", in: context)
                return try await gateway.tasks.create(
                    [spec], in: session, of: call.tenant, as: ticket, if: { call.isWanted })[0]
            }, to: call, only: fields)
    }

    /// Tells of a task that was created, now or by an earlier request.
    func answer(
        _ creation: Creation<TaskView>, to call: Call, only fields: FieldSelection?
    ) async throws -> Response {
        let wait = call.wait
        var headers = call.applied(wait)
        var view: TaskView
        switch creation {
        case .new(let created): view = created
        case .earlier(let numbers):
            view = try await task(numbers.first ?? 0, for: call)
            headers.add(contentsOf: IdempotencyKey.replayed)
        }
        if let wait {
            view = try await gateway.tasks.wait(for: view.record.id, of: call.tenant, within: wait)
        }
        headers.add("Location", "/v1/tasks/\(view.record.id)")
        return answer(view, fields, status: 201, headers: headers)
    }

    private func createMany(
        _ drafts: [Result<TaskDraft, JSONError>], _ session: SessionID, _ context: TaskContext,
        _ bytes: [UInt8], _ fields: FieldSelection?, _ call: Call
    ) async throws -> Response {
        let creation = try await call.createOnce(bytes, at: gateway) { ticket in
            let specs = await Service.specs(of: drafts, in: context)
            ticket?.accepted = specs.map { (try? $0.get()) != nil }
            let views = try await gateway.tasks.create(
                specs.compactMap { try? $0.get() }, in: session, of: call.tenant, as: ticket,
                if: { call.isWanted })
            var created = views.makeIterator()
            return specs.map { spec in
                spec.flatMap { _ in
                    created.next().map { .success($0) } ?? .failure(ProblemCode.internal.problem())
                }
            }
        }
        switch creation {
        case .new(let results): return await answer(results, only: fields)
        case .earlier(let numbers):
            return await answer(
                await results(of: numbers, drafts, context, call), only: fields,
                IdempotencyKey.replayed)
        }
    }

    /// What the request that came first is told again: the tasks as they are now, and the same
    /// refusals.
    private func results(
        of numbers: [Int64], _ drafts: [Result<TaskDraft, JSONError>], _ context: TaskContext,
        _ call: Call
    ) async -> [Result<TaskView, Problem>] {
        var results: [Result<TaskView, Problem>] = []
        for (number, draft) in zip(numbers, drafts) {
            if number != 0 {
                do throws(Problem) {
                    results.append(.success(try await task(number, for: call)))
                } catch {
                    results.append(.failure(error))
                }
            } else if case .failure(let problem) = await Service.spec(
                of: draft, at: "/\(results.count)", in: context)
            {
                results.append(.failure(problem))
            } else {
                // What was wrong has come right since, such as a file that is complete now.
                results.append(
                    .failure(
                        ProblemCode.invalidValue.problem(
                            "This was refused when the Idempotency-Key was new.",
                            at: "/\(results.count)")))
            }
        }
        return results
    }

    private static func specs(
        of drafts: [Result<TaskDraft, JSONError>], in context: TaskContext
    ) async -> [Result<TaskSpec, Problem>] {
        var specs: [Result<TaskSpec, Problem>] = []
        specs.reserveCapacity(drafts.count)
        var slice = await LoopSlice()
        for (index, draft) in drafts.enumerated() {
            specs.append(await spec(of: draft, at: "/\(index)", in: context))
            await slice.giveBackWhenOver()
        }
        return specs
    }

    private static func spec(
        of draft: Result<TaskDraft, JSONError>, at prefix: String, in context: TaskContext
    ) async -> Result<TaskSpec, Problem> {
        do throws(Problem) {
            switch draft {
            case .success(let draft):
                return .success(try await draft.spec(at: prefix, in: context))
            case .failure(let error): throw Problem(error)
            }
        } catch {
            return .failure(error)
        }
    }

    private func answer(
        _ results: [Result<TaskView, Problem>], only fields: FieldSelection?,
        _ headers: HeaderFields = [:]
    ) async -> Response {
        let list = JSONList("results", results) { [self] result, json in
            json.object { json in
                switch result {
                case .success(let view):
                    json.member("status", 201)
                    json.name("task")
                    write(view, to: &json, only: fields)
                case .failure(let problem):
                    json.member("status", problem.status)
                    json.object("problem") { problem.writeMembers(to: &$0) }
                }
            }
        }
        return await .lists(
            list, headers: headers, capacity: FieldSelection.capacity(fields) * results.count)
    }

    /// A task that an earlier request has created.
    func task(_ number: Int64, for call: Call) async throws(Problem) -> TaskView {
        try await call.earlier("task") { () throws(GatewayError) in
            try await gateway.tasks.read(TaskID(rawValue: number), of: call.tenant)
        }
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
