internal import HTTP
internal import Loop

/// The contract in both its forms, and what the `type` of a problem leads to.
extension Service {
    func contract(_ call: Call) async throws -> Response {
        Response(
            status: 200,
            headers: ["Content-Type": "application/yaml", "Cache-Control": "no-cache"],
            body: .bytes(ContractDocument.text))
    }

    func contractAsJSON(_ call: Call) async throws -> Response {
        let document = try await ContractDocument.read.value
        return Response(
            status: 200,
            headers: ["Content-Type": "application/json", "Cache-Control": "no-cache"],
            body: .bytes(document.json))
    }

    /// All codes, each with its title.
    func listProblems(_ call: Call) async throws -> Response {
        let isForPeople = call.accept.prefers("text/html", to: "text/plain")
        if let list = ProblemPage.lists[isForPeople] { return list }
        let problems = try await ContractDocument.read.value.problems
        let list = isForPeople ? Self.listPage(of: problems) : Self.listText(of: problems)
        ProblemPage.lists[isForPeople] = list
        return list
    }

    private static func listText(of problems: [ContractDocument.ProblemMeaning]) -> Response {
        ProblemPage.text(problems.map { "\($0.code) (\($0.status)): \($0.title)." })
    }

    private static func listPage(of problems: [ContractDocument.ProblemMeaning]) -> Response {
        let rows = problems.map { problem in
            """
            <tr><td><a href="/problems/\(problem.code)"><code>\(problem.code)</code></a></td>\
            <td>\(problem.status)</td><td>\(ProblemPage.escaped(problem.title))</td></tr>
            """
        }
        return ProblemPage.html(
            title: "Problems",
            """
            <h1>Problems</h1>
            <p>What a request that was not served is answered with, by its <code>code</code>.</p>
            <table><thead><tr><th>Code</th><th>Status</th><th>Title</th></tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table>
            """)
    }

    /// What one code means, and what to do.
    func explainProblem(_ call: Call) async throws -> Response {
        let code = call.request.parameters["code"]
        let problems = try await ContractDocument.read.value.problems
        guard let problem = problems.first(where: { $0.code == code }) else {
            throw ProblemCode.notFound.problem(
                "No problem has this code: /problems lists all that there are.")
        }
        guard call.accept.prefers("text/html", to: "text/plain") else {
            return ProblemPage.text([
                "\(problem.title) (\(problem.code), status \(problem.status)).", "",
                problem.meaning.filter { $0 != "`" },
            ])
        }
        return ProblemPage.html(
            title: problem.title,
            """
            <h1>\(ProblemPage.escaped(problem.title))</h1>
            <p><code>\(problem.code)</code>, status \(problem.status)</p>
            <p>\(ProblemPage.marked(problem.meaning))</p>
            <p><a href="/problems">All problems</a> · <a href="/openapi.yaml">The contract</a></p>
            """)
    }
}

/// The form of the pages about problems.
private enum ProblemPage {
    /// The list of all, for people and for programs, once somebody has asked for it: anybody may,
    /// as often as he likes.
    @LoopActor static var lists: [Bool: Response] = [:]

    static func text(_ lines: [String]) -> Response {
        Response(
            status: 200,
            headers: [
                "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-cache",
                "Vary": "Accept", "X-Content-Type-Options": "nosniff",
            ],
            body: .bytes(Array((lines.joined(separator: "\n") + "\n").utf8)))
    }

    static func html(title: String, _ body: String) -> Response {
        let page = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width"><meta name="color-scheme" \
            content="light dark">
            <title>\(escaped(title)) – Ferry</title></head>
            <body><main>
            \(body)
            </main></body></html>

            """
        return Response(
            status: 200,
            headers: [
                "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache",
                "Vary": "Accept", "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
                "Content-Security-Policy":
                    "default-src 'none'; frame-ancestors 'none'; base-uri 'none';"
                    + " form-action 'none'",
            ],
            body: .bytes(Array(page.utf8)))
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }

    /// A text in which backticks stand around code.
    static func marked(_ text: String) -> String {
        let parts = escaped(text).split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            index.isMultiple(of: 2) ? String(part) : "<code>\(part)</code>"
        }.joined()
    }
}
