internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// The cookie jar of a session (S-21).
extension Service {
    /// The most lines of a file. 1 MiB has fewer if each is a cookie.
    nonisolated private static let fileLineLimit = 60_000
    /// How many of a file's faults are told.
    private static let faultLimit = 1000
    /// How many lines of a file the jar takes at once: about a millisecond of the loop.
    nonisolated private static let partSize = 500

    /// As JSON, or as a file in Netscape's format where the client likes that better.
    func listCookies(_ call: Call) async throws -> Response {
        let session = try await session(of: call)
        let isWanted = call.cookieFilter()
        let cookies = try await gateway.memory.cookies(in: session, of: call.tenant).filter(
            isWanted)
        guard call.accept.prefers("text/plain", to: "application/json") else {
            return await .lists(
                JSONList("cookies", cookies) { cookie, json in cookie.write(to: &json) },
                headers: ["Vary": "Accept"], capacity: 256 * cookies.count + 64)
        }
        return Self.file(of: cookies)
    }

    private static func file(of cookies: [Cookie]) -> Response {
        var (text, omitted) = NetscapeCookieFile.text(of: cookies)
        if !omitted.isEmpty {
            text += "# Left out, for a tab in name or path: \(omitted.count)\n"
        }
        let headers: HeaderFields = [
            "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store",
            "Vary": "Accept", "X-Content-Type-Options": "nosniff",
            "Content-Disposition": ContentDisposition.attachment(named: "cookies.txt"),
        ]
        return Response(status: 200, headers: headers, body: .bytes(Array(text.utf8)))
    }

    /// One cookie as JSON, or a file of them.
    func addCookies(_ call: Call) async throws -> Response {
        let session = try await sessionRecord(of: call).id
        switch call.bodyType?.mimeType {
        case "application/json", nil: return try await setCookie(call, in: session)
        case "text/plain", "application/octet-stream":
            return try await importCookies(call, in: session)
        default:
            throw ProblemCode.unsupportedMediaType.problem(
                "Send a cookie as \"application/json\", or a cookie file as \"text/plain\".")
        }
    }

    /// 201 with the cookie as the jar has it; 204 for one whose time is over, which is in no jar
    /// then.
    private func setCookie(_ call: Call, in session: SessionID) async throws -> Response {
        let now = clock.now
        let cookie = try await call.json { reader throws(JSONError) in
            try Cookie(json: &reader, at: now)
        }
        try await gateway.memory.setCookie(cookie, in: session, of: call.tenant)
        let cookies = try await gateway.memory.cookies(in: session, of: call.tenant)
        guard !cookie.isExpired(at: now),
            let stored = cookies.first(where: { $0.hasIdentity(of: cookie) })
        else { return Response(status: 204) }
        return .json(201) { stored.write(to: &$0) }
    }

    /// What the file's lines have become; lines that bring nothing keep none of the others out.
    private func importCookies(_ call: Call, in session: SessionID) async throws -> Response {
        guard ["utf-8", "us-ascii", nil].contains(call.bodyType?.textEncodingName) else {
            throw ProblemCode.unsupportedMediaType.problem("The file must be UTF-8.")
        }
        let bytes = try await call.collected()
        let now = clock.now
        var stored = 0
        var faults: [NetscapeCookieFile.Fault] = []
        for part in try await Call.readingThread.run({ try Self.parts(of: bytes) }) {
            // Other work of the loop has its turn while the thread reads.
            let file = try await Call.readingThread.run {
                NetscapeCookieFile(parsing: part.text, at: now, firstLine: part.firstLine)
            }
            guard call.isWanted else { throw GatewayError.callerIsGone }
            let outcome = try await gateway.memory.importCookies(file, in: session, of: call.tenant)
            stored += outcome.stored
            faults += outcome.faults
        }
        let shown = faults.prefix(Self.faultLimit)
        return .json(capacity: 128 * shown.count + 64) { json in
            json.object { json in
                json.member("stored", stored)
                json.member("faultCount", faults.count)
                json.array("faults") { json in
                    for fault in shown {
                        json.object { json in
                            json.member("line", fault.line)
                            json.member("detail", fault.reason.sentence)
                        }
                    }
                }
            }
        }
    }

    /// A file in parts of whole lines, each with the number of its first; one part at least.
    nonisolated private static func parts(
        of bytes: [UInt8]
    ) throws(Problem) -> [(firstLine: Int, text: Substring)] {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ProblemCode.invalidValue.problem("The file is not UTF-8.")
        }
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count - (lines.last?.isEmpty == true ? 1 : 0) <= fileLineLimit else {
            var problem = Problem.bodyTooLarge
            problem.detail = "The file has more than 60,000 lines."
            throw problem
        }
        return stride(from: 0, to: lines.count, by: partSize).map { start in
            let last = lines[min(start + partSize, lines.count) - 1]
            return (start + 1, text[lines[start].startIndex..<last.endIndex])
        }
    }

    func deleteCookies(_ call: Call) async throws -> Response {
        let session = try await session(of: call)
        let isUnwanted = call.cookieFilter()
        _ = try await gateway.memory.deleteCookies(in: session, of: call.tenant, where: isUnwanted)
        return Response(status: 204)
    }
}

extension Call {
    /// The cookies that the query is about: all that agree with every member of it.
    fileprivate func cookieFilter() -> (Cookie) -> Bool {
        let filters = filters
        let domain = filters["domain"]?.lowercased()
        return { cookie in
            domain ?? cookie.domain == cookie.domain
                && filters["path"] ?? cookie.path == cookie.path
                && filters["name"] ?? cookie.name == cookie.name
        }
    }
}
