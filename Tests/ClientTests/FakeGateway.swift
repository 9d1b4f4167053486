import Foundation
import Synchronization
import TestSupport

@testable import Client

/// A gateway as far as a command sees one: tasks whose answers the test scripts, `tsk_1` first, and
/// a staged file `fil_1`.
final class FakeGateway: Sendable {
    let origin: ScriptedOrigin
    let task = ScriptedTask("tsk_1")
    /// The task that is created second.
    let second = ScriptedTask("tsk_2")
    let file = ScriptedFile()

    static let taskPath = "/v1/tasks/tsk_1"
    static let secondPath = "/v1/tasks/tsk_2"
    static let creation = "/v1/sessions/shared/tasks"

    init() throws {
        origin = try ScriptedOrigin()
        origin.on(Self.creation) { [task, second] exchange in
            try exchange.readWholeBody()
            let made = exchange.request.attempt == 1 ? task : second
            try exchange.answer(201, ["Location": "/v1/tasks/\(made.id)"], made.json)
        }
        for task in [task, second] { serve(task) }
        file.serve(on: origin)
    }

    private func serve(_ task: ScriptedTask) {
        let path = "/v1/tasks/\(task.id)"
        origin.on(path) { exchange in
            if exchange.request.method == "DELETE" {
                task.update { $0.isDeleted = true }
                try exchange.answer(204)
            } else {
                try exchange.answer(200, [:], task.json)
            }
        }
        origin.on(path + "/cancel") { exchange in
            let body = String(decoding: try exchange.readWholeBody(), as: UTF8.self)
            task.update {
                $0.state = "completed"
                $0.error = Self.cancelled
                $0.showsResumeData = body == #"{"producingResumeData":true}"#
            }
            try exchange.answer(200, [:], task.json)
        }
    }

    static let cancelled =
        #"{"domain":"NSURLErrorDomain","code":-999,"name":"cancelled","message":"cancelled"}"#
    static let notFound =
        #"{"domain":"NSURLErrorDomain","code":-1003,"name":"cannotFindHost","message":"no such host"}"#

    /// The error of a task whose gateway was stopped, with resume data.
    static func stopped(_ resumeData: String) -> String {
        #"{"domain":"NSURLErrorDomain","code":-997,"name":"backgroundSessionWasDisconnected","#
            + #""message":"stopped","userInfo":{"NSURLSessionDownloadTaskResumeData":"\#(resumeData)"}}"#
    }

    /// Answers the events of a task.
    func onEvents(_ path: String = taskPath, _ handler: @escaping Behaviour.Handler) {
        origin.on(path + "/events", handler)
    }

    /// Answers the content of a task.
    func onContent(_ path: String = taskPath, _ handler: @escaping Behaviour.Handler) {
        origin.on(path + "/content", handler)
    }

    /// The header lines of requests with a method, by path.
    func requests(_ method: String, _ path: String) -> [RecordedRequest] {
        origin.requests(for: path).filter { $0.method == method }
    }

    /// A client of it.
    func client(interrupts: Interrupts = .none) throws(ClientError) -> GatewayClient {
        let gateway = RemoteGateway(
            address: try GatewayAddress(parsing: "http://127.0.0.1:\(origin.port)"), token: "fry_t")
        let client = GatewayClient(gateway, interrupts: interrupts)
        client.persistence.firstPause = .milliseconds(1)
        client.persistence.longestPause = .milliseconds(4)
        return client
    }
}

/// A task of a fake gateway, as it is answered.
final class ScriptedTask: Sendable {
    struct Shown: Sendable {
        var state = "running"
        var status: Int? = 200
        var length: Int?
        var error = "null"
        var isDeleted = false
        var type = "download"
        /// What `cancel` gives when resume data is to be produced.
        var resumeData: String?
        var showsResumeData = false
        var waitingFor: String?
        var session = "shared"
        /// Bytes received; nil for as many as the content has.
        var received: Int?
        /// The download that goes on in its place.
        var becameTask: String?
    }

    let id: String
    private let shown = Mutex(Shown())

    init(_ id: String) {
        self.id = id
    }

    /// Changes what is answered.
    func update(_ change: (inout Shown) -> Void) {
        shown.withLock { change(&$0) }
    }

    /// Marks the task completed with a content of that length.
    func complete(length: Int) {
        update {
            $0.state = "completed"
            $0.length = length
        }
    }

    /// Whether the task was deleted.
    var isDeleted: Bool { shown.withLock(\.isDeleted) }

    /// The task as JSON.
    var json: String {
        let shown = shown.withLock { $0 }
        let response = shown.status.map { #"{"status":\#($0),"suggestedFilename":"a.iso"}"# }
        let content = shown.length.map { #"{"length":\#($0),"digest":null}"# }
        let resumeData = shown.resumeData.map { "\"\($0)\"" } ?? "null"
        let produced = shown.showsResumeData ? #""resumeData":\#(resumeData),"# : ""
        return """
            {"id":"\(id)","session":"\(shown.session)","state":"\(shown.state)",
             "waitingFor":\(shown.waitingFor.map { "\"\($0)\"" } ?? "null"),"type":"\(shown.type)",\(produced)"unknown":[1],
             "originalRequest":{"url":"http://host/a.iso"},"currentRequest":null,
             "becameTask":\(shown.becameTask.map { "\"\($0)\"" } ?? "null"),
             "countOfBytesReceived":\(shown.received ?? shown.length ?? 0),"countOfBytesExpectedToReceive":-1,
             "response":\(response ?? "null"),"content":\(content ?? "null"),"error":\(shown.error)}
            """
    }
}

extension TestSupport.Exchange {
    /// Opens an event stream with the retry time first, as the gateway does.
    func openStream(retry: Int = 10) throws {
        try head(200, ["Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"])
        try chunk("retry: \(retry)\n\n")
    }

    /// Sends one event; without an id for progress.
    func event(_ name: String, _ data: String, id: String? = nil) throws {
        let line = id.map { "id: \($0)\n" } ?? ""
        try chunk("\(line)event: \(name)\ndata: {\"task\":\"tsk_1\",\(data)}\n\n")
    }

    /// Sends the response's event.
    func response(_ status: Int = 200, length: Int = -1, id: String = "1.2") throws {
        let response = """
            "response":{"url":"http://host/a.iso","status":\(status),"suggestedFilename":"a.iso",\
            "expectedContentLength":\(length)}
            """
        try event("task.didReceiveResponse", response, id: id)
    }

    /// Sends the last event and ends the stream.
    func complete(error: String = "null", id: String = "1.9") throws {
        try event("task.didComplete", "\"error\":\(error)", id: id)
        try endChunks()
    }
}

/// Runs blocking work on a thread of its own and gives its outcome.
func onThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws(ClientError) -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
}
