internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

extension Service {
    func health(_ call: Call) async throws -> Response {
        .json { $0.object { $0.member("status", "ok") } }
    }

    /// Ready: recovered, and able to take work.
    func readiness(_ call: Call) async throws -> Response {
        guard isReady else {
            throw Problem.unavailable(because: "The gateway is starting or stopping.")
        }
        guard gateway.takesWork else { throw Problem.unavailable(because: "The disk is full.") }
        return .json { $0.object { $0.member("status", "ok") } }
    }

    func describeGateway(_ call: Call) async throws -> Response {
        description
    }

    /// The limit that all transfers share, and whether work begins that may be put off.
    func changeGateway(_ call: Call) async throws -> Response {
        let change = try await call.json { reader throws(JSONError) in
            var change = SettingChange()
            try reader.object { reader, name throws(JSONError) in
                switch name {
                case "maximumBytesPerSecond": change.limit = .some(try reader.byteRate())
                case "backgroundUpdates": change.backgroundUpdates = try reader.bool()
                case "cancel": change.cancelsBackgroundUpdates = try reader.bool()
                default: throw reader.unknownMember(name)
                }
            }
            return change
        }
        guard !change.cancelsBackgroundUpdates || change.backgroundUpdates == false else {
            throw ProblemCode.invalidValue.problem(
                "It goes with \"backgroundUpdates\": false.", at: "/cancel")
        }
        try await gateway.settings.change(change)
        return description
    }

    private var description: Response {
        .json { json in
            json.object { json in
                json.member("version", options.version)
                json.member("startedAt", instant: startedAt.milliseconds)
                json.member("maximumBytesPerSecond", gateway.settings.limit)
                json.member("backgroundUpdates", gateway.settings.backgroundUpdates)
                json.member("folders", gateway.contents.saveFolderNames)
                json.object("limits") { json in
                    let limits = ServerLimits()
                    json.member("requestLineBytes", limits.requestLine)
                    json.member("headerBytes", limits.header)
                    json.member("headerFields", limits.headerFields)
                    json.member("jsonBytes", 1 << 20)
                    json.member("jsonDepth", 32)
                    json.member("tasksPerArray", 500)
                    json.member("tasksPerPage", 500)
                    json.member("waitSeconds", 60)
                }
            }
        }
    }

    /// Prometheus' text format, version 0.0.4.
    func metrics(_ call: Call) async throws -> Response {
        let figures = gateway.figures
        var text = ""
        func line(_ name: String, _ type: String, _ help: String, _ value: Int) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name) \(value)\n"
        }
        line("ferry_sessions", "gauge", "Sessions that are known.", figures.sessions)
        line("ferry_tasks_live", "gauge", "Tasks that are not at rest.", figures.liveTasks)
        line("ferry_tasks_created_total", "counter", "Tasks created.", figures.createdTasks)
        line("ferry_tasks_completed_total", "counter", "Tasks completed.", figures.completedTasks)
        line(
            "ferry_tasks_failed_total", "counter", "Tasks completed with an error.",
            figures.failedTasks)
        line(
            "ferry_disk_full", "gauge", "Whether new work is refused because the disk is full.",
            gateway.takesWork ? 0 : 1)
        line("ferry_event_streams", "gauge", "Readers of event streams.", streams.readerCount)
        return Response(
            status: 200,
            headers: ["Content-Type": "text/plain; version=0.0.4", "Cache-Control": "no-store"],
            body: .bytes(Array(text.utf8)))
    }

    func startBrowserSession(_ call: Call) async throws -> Response {
        guard call.request.header("authorization") != nil else {
            throw ProblemCode.unauthenticated.problem(
                "A browser session is started with a token.",
                headers: ["WWW-Authenticate": "Bearer realm=\"ferry\""])
        }
        let cookie = try authenticator.browsers.start(for: call.principal, by: call.request)
        return Response(status: 204, headers: ["Set-Cookie": cookie, "Cache-Control": "no-store"])
    }

    func endBrowserSession(_ call: Call) async throws -> Response {
        var headers: HeaderFields = ["Cache-Control": "no-store"]
        for cookie in authenticator.browsers.end(of: call.request) {
            headers.add("Set-Cookie", cookie)
        }
        return Response(status: 204, headers: headers)
    }
}

extension Problem {
    static func unavailable(because detail: String) -> Problem {
        var problem = Problem.unavailable
        problem.detail = detail
        return problem
    }
}
