internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Metrics
internal import Semantics
internal import TLS

extension Service {
    func health(_ call: Call) async throws -> Response { Service.healthy }

    static var healthy: Response { .json { $0.object { $0.member("status", "ok") } } }

    /// Ready: recovered, and able to take work. Says of each condition whether it holds.
    func readiness(_ call: Call) async throws -> Response {
        let isStoreAway = await gateway.findsStoreAway()
        let readiness = Readiness(
            startFault: !isReady
                ? "The gateway is starting or stopping."
                : gateway.nodes?.isLost == true
                    ? "The node was taken for lost, and joins the others again." : nil,
            storeFault: isStoreAway || nodes?.isCutOff == true
                ? Readiness.away
                : gateway.isStoreStalled ? "There is no room to note changes." : nil,
            diskFault: gateway.takesWork ? nil : "The disk is full.")
        if let fault = readiness.fault {
            throw Problem.unavailable(because: fault).with("checks", readiness)
        }
        return .json { json in
            json.object { json in
                json.member("status", "ok")
                json.member("checks", readiness)
            }
        }
    }

    func describeGateway(_ call: Call) async throws -> Response {
        try await description
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
        return try await description
    }

    private var description: Response {
        get async throws {
            let figures = try await gateway.figures()
            guard let tasks = figures.tasks else {
                throw GatewayError.store(.away("It is known not to answer."))
            }
            let machine = await machineFigures()
            return .json(capacity: 2048) { json in
                json.object { json in
                    json.member("version", options.version)
                    json.member("commit", options.commit)
                    json.member("startedAt", instant: started.at.milliseconds)
                    json.member("uptime", uptime)
                    json.member("maximumBytesPerSecond", gateway.settings.limit)
                    json.member("backgroundUpdates", gateway.settings.backgroundUpdates)
                    json.member("folders", gateway.contents.saveFolderNames)
                    json.object("store") { machine.writeStore(to: &$0, figures) }
                    json.name("certificate")
                    if let certificate = server?.tls?.context.certificate {
                        certificate.write(to: &json)
                    } else {
                        json.null()
                    }
                    json.name("disk")
                    if let disk = machine.disk { disk.write(to: &json) } else { json.null() }
                    figures.writeWork(tasks, to: &json)
                    json.object("limits") { Service.writeLimits(to: &$0) }
                }
            }
        }
    }

    /// Whole seconds since the start, by a clock that is not set.
    private var uptime: Int64 { (clock.uptime - started.uptime).components.seconds }

    private static func writeLimits(to json: inout JSONWriter) {
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

    /// Prometheus' text format, version 0.0.4.
    func metrics(_ call: Call) async throws -> Response {
        let figures = try await gateway.figures()
        let machine = await machineFigures()
        guard let server else { throw ProblemCode.internal.problem() }
        let page = MetricsPage(
            gateway: figures, door: server.figures, connections: server.connectionCount,
            tls: server.tls.map {
                .init(handshakes: $0.figures, expiry: $0.context.certificate.notAfter)
            },
            events: streams.figures, loop: LoopActor.loop.figures, machine: machine,
            nodes: nodeFigures, auditLossCount: options.audit?.lostCount ?? 0,
            version: options.version,
            commit: options.commit)
        return Response(
            status: 200,
            headers: ["Content-Type": Exposition.mediaType, "Cache-Control": "no-store"],
            body: .bytes(page.bytes))
    }

    private func machineFigures() async -> MachineFigures {
        guard let machine = options.machine else { return MachineFigures() }
        return (try? await Call.readingThread.run { machine.figures() }) ?? MachineFigures()
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
        call.request.outliveCaller()
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
