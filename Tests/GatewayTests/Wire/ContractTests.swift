import HTTP
import Loop
import Semantics
import TestSupport
import Testing

@testable import REST

/// openapi.yaml, the documents and the code say the same.
struct ContractTests {
    @Test func `every route is in openapi.yaml with its scope, and nothing else is`() async throws {
        let directory = try TemporaryDirectory()
        LoopActor.loop.start()
        let routes = try await Self.routes(in: directory)
        // HEAD is answered wherever GET is, and is described where that needs words.
        let documented = try Contract().operations.filter { $0.method != "HEAD" }
        #expect(routes == Set(documented.map { "\($0.method) \($0.path) \($0.scope)" }))
    }

    @LoopActor
    private static func routes(in directory: TemporaryDirectory) throws -> Set<String> {
        let service = try InProcessGateway.makeService(in: directory)
        return Set(
            service.endpoints.map { endpoint in
                let scope =
                    switch endpoint.access {
                    case .open: "none"
                    case .anyToken: "any"
                    case .scope(let scope), .eitherScope(let scope, _): scope.rawValue
                    }
                return "\(endpoint.method) \(endpoint.pattern) \(scope)"
            })
    }

    @Test func `the list of problems is closed, with one status and title each`() throws {
        let own = ProblemCode.allCases.map { $0.problem() }
        let ofTheDoor: [Problem] = [
            .malformedRequest(""), .notFound, .methodNotAllowed(allow: ""), .requestTimeout,
            .bodyTooLarge, .uriTooLong, .expectationFailed, .headerTooLarge, .notImplemented,
            .unavailable, .versionNotSupported,
        ]
        let all = (own + ofTheDoor).map {
            Contract.Problem(code: $0.code, status: $0.status, title: $0.title)
        }
        let contract = try Contract()
        #expect(Set(all) == contract.problems)
        #expect(Set(BadInput.all.map(\.code)).isSubset(of: contract.problems.map(\.code)))
        let statuses = contract.problems.reduce(into: [:]) { $0[$1.code] = $1.status }
        for input in BadInput.all { #expect(statuses[input.code] == input.status) }
    }

    @Test func `every error that openapi.yaml tells of is one of the code (S-61)`() throws {
        let known = Set(
            URLErrorCode.allCases.map {
                Contract.TransferFailure(
                    name: $0.name, domain: "NSURLErrorDomain", code: $0.rawValue,
                    message: $0.sentence)
            }
                + FerryErrorCode.allCases.map {
                    Contract.TransferFailure(
                        name: $0.name, domain: "FerryErrorDomain", code: $0.rawValue,
                        message: $0.sentence)
                })
        let told = try Contract().errors
        #expect(told.count >= 31 && told.isSubset(of: known), "\(told.subtracting(known))")
    }

    @Test func `the contract that is served is the file`() async throws {
        try await RunningGateway.alone { gateway in
            let answer = try await gateway.client.with(token: nil).get("/openapi.yaml")
            #expect(answer.status == 200)
            #expect(answer.headers["Content-Type"] == "application/yaml")
            #expect(answer.body == (try Contract.bytes()))
        }
    }

    @Test func `the documents' table of the configuration is the configuration`() async throws {
        try await RunningGateway.alone { gateway in
            let echoed = try await gateway.client.createSession().json["configuration"]
            #expect(try Self.configurationTable() == echoed.object)
        }
    }

    /// Names and defaults of the table, the defaults as JSON.
    private static func configurationTable() throws -> [String: TestJSON] {
        let page = String(
            decoding: try Contract.bytes(of: "docs/configuration.md"), as: UTF8.self)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let heading = try #require(lines.firstIndex(of: "## Sessions"))
        let rows = lines[heading...].dropFirst().drop { !$0.hasPrefix("|") }
            .prefix { $0.hasPrefix("|") }.dropFirst(2)
        var table: [String: TestJSON] = [:]
        for row in rows {
            let cells = row.split(separator: "|").map { $0.filter { $0 != "`" } }
            let name = cells[0].trimmingPrefix(" ").prefix { $0 != " " }
            table[String(name)] =
                name == "urlCache" ? capacities(cells[1]) : try TestJSON(parsing: cells[1])
        }
        return table
    }

    /// `4 MiB, 256 MiB`: memory and disk.
    private static func capacities(_ text: String) -> TestJSON {
        let sizes = text.split(separator: " ").compactMap { Int($0) }.map { $0 << 20 }
        return [
            "memoryCapacity": .int(sizes.first ?? -1), "diskCapacity": .int(sizes.last ?? -1),
        ]
    }
}
