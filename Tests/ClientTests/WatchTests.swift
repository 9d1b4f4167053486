import Foundation
import Glibc
import JSON
import Synchronization
import TestSupport
import Testing

@testable import Client

struct TaskProgressTests {
    private func event(_ name: String, _ data: String) -> ServerSentEvent {
        ServerSentEvent(id: "", name: name, data: #"{"task":"tsk_1",\#(data)}"#)
    }

    @Test func `events add up to the state of the task`() {
        var progress = TaskProgress()
        #expect(progress.note == "starting")
        let response = #""response":{"status":200,"expectedContentLength":10,"url":"http://h/b"}"#
        #expect(progress.apply(event("task.didReceiveResponse", response)) == .none)
        #expect(progress.expected == 10 && progress.url == "http://h/b" && progress.note == nil)
        _ = progress.apply(event("download.didWriteData", #""totalBytesWritten":4"#))
        #expect(progress.received == 4 && progress.expected == 10)
        _ = progress.apply(event("task.didReceiveData", #""offset":4,"length":3"#))
        #expect(progress.received == 7)
        _ = progress.apply(event("task.didComplete", #""error":null"#))
        #expect(progress.ending == .succeeded)
        #expect(progress.id == "tsk_1")
    }

    @Test func `of an upload, and before there is a response, it tells what is sent (S-42)`() throws
    {
        var progress = TaskProgress()
        let sent = #""totalBytesSent":4,"totalBytesExpectedToSend":10"#
        #expect(progress.apply(event("task.didSendBodyData", sent)) == .none)
        #expect(progress.sent == 4 && progress.expectedToSend == 10 && progress.note == nil)
        #expect(progress.moved == (4, 10))
        let response = #""response":{"status":200,"expectedContentLength":2}"#
        _ = progress.apply(event("task.didReceiveResponse", response))
        #expect(progress.moved == (0, 2))
        let json = #"{"id":"a","state":"running","type":"upload","countOfBytesSent":7}"#
        progress.apply(try RemoteTask(JSONValue(parsing: Array(json.utf8))))
        #expect(progress.moved == (7, -1))
    }

    @Test func `a resumed download begins where it goes on (S-36)`() {
        var progress = TaskProgress()
        let offset = #""fileOffset":4,"expectedTotalBytes":10"#
        _ = progress.apply(event("download.didResumeAtOffset", offset))
        #expect(progress.resumedAt == 4 && progress.moved == (4, 10))
        _ = progress.apply(event("task.willRetry", #""attempt":2,"delay":1.5,"reason":"x""#))
        #expect(progress.note == "waiting to try again: x")
        _ = progress.apply(event("download.didWriteData", #""totalBytesWritten":5"#))
        #expect(progress.note == nil && progress.moved == (5, 10))
    }

    @Test func `bytes that are told late do not end a wait for room`() {
        var progress = TaskProgress()
        _ = progress.apply(event("task.didChange", #""changes":{"waitingFor":"room"}"#))
        _ = progress.apply(event("download.didWriteData", #""totalBytesWritten":5"#))
        #expect(progress.note?.hasPrefix("waiting for room") == true && progress.received == 5)
        _ = progress.apply(event("task.didChange", #""changes":{"waitingFor":null}"#))
        _ = progress.apply(event("download.didWriteData", #""totalBytesWritten":6"#))
        #expect(progress.note == nil)
    }

    private static let at = #""at":"2026-11-21T07:00:00.000Z""#
    private static let now: Int64 = 1_795_244_400_000

    @Test func `a wait for the next try says why it waits, and how long yet`() {
        var progress = TaskProgress()
        let retry = #""attempt":2,"delay":12.5,"reason":"networkConnectionLost""#
        _ = progress.apply(event("task.willRetry", Self.at + "," + retry))
        let wait = "waiting to try again"
        #expect(progress.note(at: Self.now) == wait + " in 0:13: the connection was lost")
        #expect(progress.note(at: Self.now + 12_000) == wait + " in 0:01: the connection was lost")
        #expect(progress.note(at: Self.now + 13_000) == wait + ": the connection was lost")
        // The same wait, told in another way, leaves its reason.
        let same = #""changes":{"waitingFor":"retry","nextAttemptAt":"2026-11-21T07:00:12.500Z"}"#
        _ = progress.apply(event("task.didChange", same))
        #expect(progress.note == wait + ": the connection was lost")
        let over = #""changes":{"waitingFor":null,"nextAttemptAt":null}"#
        _ = progress.apply(event("task.didChange", over))
        #expect(progress.note == "starting")
        _ = progress.apply(event("download.didWriteData", #""totalBytesWritten":5"#))
        _ = progress.apply(event("task.didChange", over))
        #expect(progress.note == nil)
    }

    @Test(arguments: [
        (#"{"state":"suspended","suspendCount":1,"waitingFor":null}"#, "suspended"),
        (#"{"waitingFor":"connectivity"}"#, "waiting for connectivity"),
        (#"{"waitingFor":"beginDate"}"#, "waiting for its begin date"),
        (#"{"waitingFor":"quietTime"}"#, "waiting for quiet time"),
        (#"{"waitingFor":"somethingNew"}"#, "waiting for somethingNew"),
        (#"{"state":"running","suspendCount":0}"#, "starting"), (#"{"priority":0.75}"#, "starting"),
    ])
    func `what changes of a task is in its note`(changes: String, note: String) {
        var progress = TaskProgress()
        #expect(progress.apply(event("task.didChange", #""changes":"# + changes)) == .none)
        #expect(progress.note == note)
    }

    @Test func `a question that is asked again by a change has to be looked up`() {
        var progress = TaskProgress()
        let asks = #""changes":{"state":"running","waitingFor":"decision"}"#
        #expect(progress.apply(event("task.didChange", asks)) == .refresh)
        #expect(progress.waitsForDecision)
    }

    @Test func `an error ends it as failed`() {
        var progress = TaskProgress()
        _ = progress.apply(event("task.didComplete", "\"error\":\(FakeGateway.cancelled)"))
        guard case .failed(let failure) = progress.ending else {
            Issue.record("it has not failed")
            return
        }
        #expect(failure.isCancellation)
        #expect(ClientError.transferFailed(failure).exitStatus == .cancelled)
    }

    @Test func `a data task that became a download has ended (S-70)`() {
        var progress = TaskProgress()
        _ = progress.apply(event("task.didBecomeDownloadTask", #""downloadTask":"tsk_2""#))
        #expect(progress.ending == .succeeded)
    }

    @Test(arguments: ["", "null", "[", #"{"response":1}"#, #"{"response":{"status":"x"}}"#])
    func `data that makes no sense changes nothing`(_ data: String) {
        var progress = TaskProgress()
        let event = ServerSentEvent(id: "", name: "task.didReceiveResponse", data: data)
        #expect(progress.apply(event) == .none)
        #expect(progress == TaskProgress())
    }
}

struct EventLineTests {
    @Test(arguments: [
        (
            "task.didCreate", #"{"at":"2026-11-21T07:00:01.250Z","task":"tsk_1"}"#,
            "07:00:01.250  tsk_1  task.didCreate"
        ),
        (
            "task.didReceiveResponse",
            #"{"task":"tsk_1","response":{"status":404,"suggestedFilename":"a\u001b"}}"#,
            "tsk_1  task.didReceiveResponse  404 a\\u{1b}"
        ),
        (
            "download.didWriteData",
            #"{"task":"tsk_1","totalBytesWritten":1024,"totalBytesExpectedToWrite":2048}"#,
            "tsk_1  download.didWriteData  1.00 KiB of 2.00 KiB"
        ),
        (
            "task.didSendBodyData",
            #"{"task":"tsk_1","totalBytesSent":1024,"totalBytesExpectedToSend":2048}"#,
            "tsk_1  task.didSendBodyData  1.00 KiB of 2.00 KiB"
        ),
        (
            "task.didSendBodyData", #"{"task":"tsk_1","totalBytesSent":1024}"#,
            "tsk_1  task.didSendBodyData  1.00 KiB"
        ),
        (
            "download.didResumeAtOffset",
            #"{"task":"tsk_1","fileOffset":1024,"expectedTotalBytes":-1}"#,
            "tsk_1  download.didResumeAtOffset  at 1.00 KiB"
        ),
        (
            "task.willRetry",
            #"{"task":"tsk_1","attempt":2,"delay":61.5,"reason":"503\u001b"}"#,
            "tsk_1  task.willRetry  attempt 2 in 1:01 503\\u{1b}"
        ),
        (
            "task.willRetry",
            #"{"task":"tsk_1","attempt":2,"delay":1,"reason":"cannotConnectToHost"}"#,
            "tsk_1  task.willRetry  attempt 2 in 0:01 the host cannot be reached"
        ),
        (
            "task.didChange",
            #"{"task":"tsk_1","changes":{"state":"running","waitingFor":null,"priority":0.75}}"#,
            "tsk_1  task.didChange  state running, waitingFor none, priority 0.75"
        ),
        ("task.didDelete", #"{"task":"tsk_1"}"#, "tsk_1  task.didDelete"),
        (
            "task.didComplete", "{\"task\":\"tsk_1\",\"error\":\(FakeGateway.notFound)}",
            "tsk_1  task.didComplete  cannotFindHost (-1003): no such host"
        ),
        (
            "session.didBecomeInvalid", #"{"session":"ses_1","error":null}"#,
            "ses_1  session.didBecomeInvalid"
        ),
        ("x\ny", "no JSON", "x\\u{a}y"),
    ])
    func `an event is one line`(_ name: String, _ data: String, _ expected: String) {
        #expect(EventLine.text(ServerSentEvent(id: "1", name: name, data: data)) == expected)
    }

    @Test(arguments: [
        ("task.didReceiveData", false, true), ("task.didReceiveData", true, false),
        ("download.didWriteData", false, true), ("task.didComplete", true, false),
    ])
    func `the numbered data of an inline session is no progress (S-58)`(
        _ name: String, _ isNumbered: Bool, _ isProgress: Bool
    ) {
        let event = ServerSentEvent(id: "1.7", name: name, data: "{}", isNumbered: isNumbered)
        #expect(EventLine.isProgress(event) == isProgress)
    }

    @Test func `for scripts it is one JSON object on a line`() throws {
        let event = ServerSentEvent(id: "1.7", name: "a", data: "{\"n\":\n1.50}")
        #expect(EventLine.json(event) == #"{"id":"1.7","event":"a","data":{"n": 1.50}}"#)
        let other = ServerSentEvent(id: "", name: "a", data: "x\"")
        #expect(EventLine.json(other) == #"{"id":"","event":"a","data":"x\""}"#)
    }
}

struct TaskTableTests {
    private func task(_ json: String) throws -> RemoteTask {
        try RemoteTask(JSONValue(parsing: Array(json.utf8)))
    }

    @Test func `tasks stand in columns, and keep to the width`() throws {
        let tasks = [
            try task(
                #"{"id":"tsk_1","state":"running","waitingFor":"slot","currentRequest":{"url":"http://host/a\u001b"}}"#
            ),
            try task(
                #"{"id":"tsk_22","state":"completed","error":\#(FakeGateway.notFound),"originalRequest":{"url":"http://host/b"}}"#
            ),
            try task(
                #"{"id":"tsk_3","state":"completed","response":{"status":404},"countOfBytesReceived":512,"countOfBytesExpectedToReceive":1024}"#
            ),
        ]
        #expect(
            TaskTable.lines(tasks) == [
                "TASK    STATE           DONE           BYTES  URL",
                "tsk_1   running/slot       -             0 B  http://host/a\\u{1b}",
                "tsk_22  cannotFindHost     -             0 B  http://host/b",
                "tsk_3   completed 404    50%  512 B/1.00 KiB  ",
            ])
        let short = TaskTable.lines([tasks[1]], width: 72)
        #expect(short.allSatisfy { DisplayText.columns(of: $0) <= 72 })
        // Where it is narrow, a task has two lines.
        let narrow = TaskTable.lines(tasks, width: 30)
        #expect(narrow.count == 8)
        #expect(narrow.allSatisfy { DisplayText.columns(of: $0) <= 30 })
        #expect(narrow[2] == "tsk_1   running/slot")
        #expect(narrow[3] == "     -  http://host/a\\u{1b}")
        #expect(TaskTable.lines([]) == ["TASK  STATE  DONE  BYTES  URL"])
    }

    @Test func `of an upload the table shows what is sent`() throws {
        let upload = try task(
            #"{"id":"tsk_1","type":"upload","state":"running","countOfBytesSent":512,"countOfBytesExpectedToSend":1024,"countOfBytesReceived":7}"#
        )
        #expect(TaskTable.summary(upload) == "tsk_1  running  50%  512 B/1.00 KiB")
    }

    @Test(arguments: ["null", "{}", #"{"id":"a"}"#, #"{"id":1,"state":"running"}"#])
    func `what is no task is an error`(_ json: String) {
        #expect(throws: ClientError.self) { try task(json) }
    }

    @Test func `a list is read page by page`() async throws {
        let gateway = try FakeGateway()
        gateway.origin.on("/v1/tasks") { exchange in
            let isSecond = exchange.request.query?.contains("cursor=a%2Fb") == true
            let next = isSecond ? "null" : "\"a/b\""
            let id = isSecond ? "tsk_2" : "tsk_1"
            try exchange.answer(
                200, [:], #"{"tasks":[{"id":"\#(id)","state":"x"}],"nextCursor":\#(next)}"#)
        }
        let ids = try await onThread { () throws(ClientError) in
            try gateway.client().tasks(states: "running,completed").map { $0["id"]?.string }
        }
        #expect(ids == ["tsk_1", "tsk_2"])
        let queries = gateway.origin.requests(for: "/v1/tasks").map(\.query)
        #expect(
            queries == [
                "limit=500&state=running%2Ccompleted",
                "limit=500&state=running%2Ccompleted&cursor=a%2Fb",
            ])
    }
}

struct TaskWatchTests {
    let gateway: FakeGateway

    init() throws {
        gateway = try FakeGateway()
    }

    private func watch(_ report: Bool = false) async throws -> (TaskProgress, [String]) {
        let gateway = gateway
        return try await onThread { () throws(ClientError) in
            let screen = Screen(descriptor: STDERR_FILENO, environment: [:])
            var names: [String] = []
            let take: ((ServerSentEvent) -> Void)? = report ? { names.append($0.name) } : nil
            let watch = TaskWatch(
                client: try gateway.client(),
                display: ProgressDisplay(on: screen, isQuiet: true), report: take)
            return (try watch.run("tsk_1"), names)
        }
    }

    @Test func `it ends with the task and tells every event`() async throws {
        let origin = gateway.origin
        gateway.onEvents { [task = gateway.task, weak origin] exchange in
            try exchange.openStream()
            try exchange.response(length: 5)
            task.update { $0.isDeleted = true }
            origin?.on(FakeGateway.taskPath, .fixed(404))
            try exchange.complete()
        }
        let (progress, names) = try await watch(true)
        #expect(progress.ending == .succeeded)
        #expect(names == ["task.didReceiveResponse", "task.didComplete"])
        #expect(gateway.requests("DELETE", FakeGateway.taskPath).isEmpty)
    }

    @Test func `a task that has ended already is told at once`() async throws {
        gateway.task.complete(length: 5)
        #expect(try await watch().0.received == 5)
        #expect(gateway.requests("GET", FakeGateway.taskPath + "/events").isEmpty)
    }

    @Test func `a 404 of the origin is a failure`() async throws {
        gateway.task.update {
            $0.state = "completed"
            $0.status = 404
        }
        await #expect(throws: ClientError.serverAnswered(status: 404)) { try await watch() }
    }

    @Test func `an id that a user mistyped stays in its path`() async throws {
        let gateway = gateway
        await #expect {
            try await onThread { () throws(ClientError) in
                try gateway.client().task("../x?y#z")
            }
        } throws: { error in
            guard case ClientError.refused(let problem) = error else { return false }
            return problem.status == 404
        }
        #expect(gateway.origin.requests.map(\.target) == ["/v1/tasks/..%2Fx%3Fy%23z"])
    }
}

struct TaskBoardTests {
    @Test func `running tasks have a bar each and leave a line when they end`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        let gateway = try FakeGateway()
        let (second, last) = (Gate(), Gate())
        let pressed = Atomic(0)
        let interrupts = Interrupts { pressed.load(ordering: .relaxed) }
        let listed = Mutex(["tsk_1"])
        gateway.origin.on("/v1/tasks") { exchange in
            let tasks = listed.withLock { $0 }.map {
                #"{"id":"\#($0)","state":"running","currentRequest":{"url":"http://h/\#($0)"},"countOfBytesReceived":1,"countOfBytesExpectedToReceive":100}"#
            }
            try exchange.answer(
                200, [:], "{\"tasks\":[\(tasks.joined(separator: ","))],\"nextCursor\":null}")
        }
        gateway.origin.on("/v1/events") { exchange in
            try exchange.openStream()
            try exchange.stall(until: second)
            listed.withLock { $0 = ["tsk_1", "tsk_2"] }
            try exchange.chunk("id: 1\nevent: task.didCreate\ndata: {\"task\":\"tsk_2\"}\n\n")
            try exchange.event("download.didWriteData", "\"totalBytesWritten\":50")
            try exchange.stall(until: last)
            try exchange.event("task.didComplete", "\"error\":null", id: "2")
            try exchange.stall()
        }
        let run = Task {
            try await onThread { () throws(ClientError) in
                let screen = Screen(
                    descriptor: terminal.device, environment: TerminalTests.terminal)
                let client = try gateway.client(interrupts: interrupts)
                try TaskBoard(client: client, screen: screen).run()
            }
        }
        try await terminal.waitForLines("the task of the list") { lines in
            lines.count == 2 && lines[0].hasPrefix("  1 ") && lines[0].contains(" 1%")
                && lines[1] == "1 running"
        }
        second.open()
        try await terminal.waitForLines("two bars") { lines in
            lines.count == 3 && lines[0].hasPrefix("  1 ")
                && lines[1].hasPrefix("  2 ") && lines[2].hasPrefix("2 running")
        }
        last.open()
        try await terminal.waitForLines("a line of the one that ended") { lines in
            lines.count == 3 && lines[0].hasPrefix("tsk_1  completed  ")
                && lines[0].hasSuffix(" B  http://h/tsk_1")
                && lines[1].hasPrefix("  2 ") && lines[2].hasPrefix("1 running, 1 done")
        }
        pressed.add(1, ordering: .relaxed)
        await #expect(throws: ClientError.interrupted) { try await run.value }
        try await terminal.waitForLines("only what stays") { $0.count == 1 }
        #expect(terminal.unknown.isEmpty)
    }

    @Test func `on a log every event is a line, but progress only now and then`() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let (gateway, writer) = (try FakeGateway(), ends[1])
        let pressed = Atomic(0)
        let interrupts = Interrupts { pressed.load(ordering: .relaxed) }
        gateway.origin.on("/v1/events") { exchange in
            try exchange.openStream()
            for count in 0..<100 {
                try exchange.event("download.didWriteData", "\"totalBytesWritten\":\(count)")
            }
            try exchange.complete()
        }
        let run = Task {
            try await onThread { () throws(ClientError) in
                let screen = Screen(descriptor: writer, environment: [:])
                let client = try gateway.client(interrupts: interrupts)
                try TaskBoard(client: client, screen: screen).run()
            }
        }
        let reader = ends[0]
        let text = try await onThread { () throws(ClientError) in
            var text = ""
            var room = [UInt8](repeating: 0, count: 4096)
            while !text.contains("didComplete") {
                let count = read(reader, &room, room.count)
                text += String(decoding: room.prefix(count), as: UTF8.self)
            }
            return text
        }
        pressed.add(1, ordering: .relaxed)
        await #expect(throws: ClientError.interrupted) { try await run.value }
        let lines = text.split(separator: "\n")
        #expect(lines == ["tsk_1  download.didWriteData  0 B", "tsk_1  task.didComplete"])
    }
}
