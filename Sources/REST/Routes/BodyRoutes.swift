internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

extension Service {
    /// The body of a streamed upload, piped to the origin as it comes (S-39).
    func sendBody(_ call: Call) async throws -> Response {
        let id = try call.task()
        let session = try await gateway.tasks.read(id, of: call.tenant).record.session
        guard call.request.queryValue("generation") != nil else {
            throw Call.invalid("generation", "is missing")
        }
        let generation = try call.number("generation", in: 1 ... .max, default: 1)
        let body = call.request.body
        let pipe = try await gateway.tasks.openBody(
            of: id, of: call.tenant, generation: generation, length: body.declaredLength)
        var refusal: BodyRefusal?
        pipe.onRefusal = {
            refusal = $0
            body.interrupt()
        }
        do {
            // A client that leaves while the origin takes nothing is noticed all the same.
            try await withTaskCancellationHandler {
                while let piece = try await body.next() { try await pipe.write(piece) }
                try await pipe.finish()
            } onCancel: { [gateway] in
                LoopActor.post { if body.failure != nil { gateway.tasks.loseBody(pipe, of: id) } }
            }
        } catch let error as BodyError {
            if error == .interrupted, let refusal { throw await problem(refusal, of: id, call) }
            gateway.tasks.loseBody(pipe, of: id)
            throw error
        } catch let refusal as BodyRefusal {
            throw await problem(refusal, of: id, call)
        }
        // The body is the answer to a question (S-73), and an empty one waits for no attempt.
        try await gateway.sessions.acknowledged(session)
        return Response(status: 204)
    }

    /// The end of an attempt is often that of its task, whose error says more.
    private func problem(
        _ refusal: BodyRefusal, of id: TaskID, _ call: Call
    ) async -> Problem {
        guard refusal == .attemptEnded,
            let task = try? await gateway.tasks.read(id, of: call.tenant),
            task.record.state == .completed
        else { return Problem(refusal) }
        return Problem(.taskEnded(task.record.error))
    }
}

extension Problem {
    /// What the client is told whose body is not wanted to its end.
    fileprivate init(_ refusal: BodyRefusal) {
        self =
            switch refusal {
            case .answered(let status):
                ProblemCode.bodyRefused.problem(
                    "The origin has answered with \(status) before the body was over."
                ).with("originStatus", status)
            case .attemptEnded:
                ProblemCode.bodyRefused.problem(
                    "The attempt has ended; if the task goes on, it asks for another body.")
            case .taskEnded(let error?):
                ProblemCode.bodyRefused.problem("The task has failed.").with(error)
            case .taskEnded(nil):
                ProblemCode.bodyRefused.problem("The task has completed without it.")
            case .gatewayStops: .unavailable(because: "The gateway is stopping.")
            }
    }
}
