import Foundation
import Glibc
import JSON
import TestSupport
import Testing

@testable import Client

struct GatewayClientTests {
    @Test func `an answer that is no JSON is named as what it is`() async throws {
        let gateway = try FakeGateway()
        gateway.origin.on("/v1/gateway", .fixed(200, [:], "<html>"))
        await #expect {
            try await onThread { () throws(ClientError) in
                try gateway.client().json("GET", "/v1/gateway")
            }
        } throws: { error in
            guard case ClientError.unexpectedAnswer = error else { return false }
            return true
        }
    }

    @Test func `a refusal without problem+json keeps its status`() async throws {
        let gateway = try FakeGateway()
        gateway.origin.on("/v1/gateway", .fixed(502, [:], "Bad gateway\u{1B}[2J"))
        let problem = ProblemDetails(status: 502, code: nil, detail: "")
        #expect(problem.description == "the gateway refused (502)")
        await #expect(throws: ClientError.refused(problem)) {
            try await onThread { () throws(ClientError) in
                try gateway.client().json("GET", "/v1/gateway")
            }
        }
    }

    @Test func `who asks an https port in clear, or another server, is told so`() async throws {
        let gateway = try FakeGateway()
        gateway.origin.on("/v1/gateway", .fixed(400, [:], "This is an https port."))
        gateway.origin.on("/v1/usage", .fixed(400, [:], #"{"code":"invalid-value"}"#))
        gateway.origin.on("/v1/none", .fixed(404, [:], "<h1>Not found</h1>"))
        let address = try gateway.client().gateway.address
        for (path, words) in [
            ("gateway", "this may be an https port: write https:// in place of http:// (400)"),
            ("usage", "the gateway refused (invalid-value, 400)"),
            ("none", "what answers at \(address) is no Ferry gateway: is the port right? (404)"),
        ] {
            await #expect {
                try await onThread { () throws(ClientError) in
                    try gateway.client().json("GET", "/v1/\(path)")
                }
            } throws: { error in
                (error as? ClientError)?.description == words
            }
        }
    }

    @Test func `a redirect is not followed: the token stays`() async throws {
        let (gateway, decoy) = (try FakeGateway(), try ScriptedOrigin())
        gateway.origin.on("/v1/gateway", .redirect(307, to: decoy.url("/v1/gateway")))
        await #expect(
            throws: ClientError.refused(ProblemDetails(status: 307, code: nil, detail: ""))
        ) {
            try await onThread { () throws(ClientError) in
                try gateway.client().json("GET", "/v1/gateway")
            }
        }
        #expect(decoy.requests.isEmpty)
    }

    @Test func `a request is given up after its seconds`() async throws {
        let gateway = try FakeGateway()
        gateway.origin.on("/healthz", .stall())
        await #expect {
            try await onThread { () throws(ClientError) in
                _ = try gateway.client().send("GET", "/healthz", seconds: 1)
            }
        } throws: { error in
            (error as? ClientError)?.exitStatus == .noGateway
        }
    }

    @Test func `what may pass is tried again, so often and no more`() async throws {
        let gateway = try FakeGateway()
        gateway.origin.on("/v1/gateway", .fixed(503))
        await #expect(
            throws: ClientError.refused(ProblemDetails(status: 503, code: nil, detail: ""))
        ) {
            try await onThread { () throws(ClientError) in
                let client = try gateway.client()
                client.persistence.tries = 4
                return try client.persistently { () throws(ClientError) in
                    try client.json("GET", "/v1/gateway")
                }
            }
        }
        #expect(gateway.origin.requests(for: "/v1/gateway").count == 4)
    }

    @Test func `a gateway that was never there is not waited for`() async throws {
        let tries = try await onThread { () throws(ClientError) in
            let address = try GatewayAddress(parsing: "http://127.0.0.1:1")
            let client = GatewayClient(RemoteGateway(address: address, token: "fry_t"))
            var tries = 0
            do throws(ClientError) {
                _ = try client.persistently { () throws(ClientError) in
                    tries += 1
                    return try client.json("GET", "/v1/gateway")
                }
            } catch {
                guard case .unreachable = error else { throw error }
            }
            return tries
        }
        #expect(tries == 1)
    }

    @Test func `pauses double up to the longest, and ten tries take a minute`() {
        let persistence = Persistence()
        let pauses = (1..<persistence.tries).map { persistence.pause(after: $0) / .seconds(1) }
        #expect(pauses == [0.25, 0.5, 1, 2, 4, 8, 15, 15, 15])
        #expect(persistence.pause(after: .max) == .seconds(15))
    }

    @Test func `a HEAD ends with its head`() async throws {
        let gateway = try FakeGateway()
        gateway.origin.on("/v1/x") { try $0.head(200, ["Content-Length": "500"]) }
        let answer = try await onThread { () throws(ClientError) in
            try gateway.client().send("HEAD", "/v1/x", seconds: 5)
        }
        #expect(answer.status == 200 && answer.body.isEmpty)
    }

    @Test func `what a refusal says is fit for a terminal (X-8)`() {
        let problem = ProblemDetails(
            status: 422, code: "x", detail: "a\u{1B}[2J\nb", pointer: "/\u{7}")
        let text = ClientError.refused(problem).description
        #expect(text == "a\\u{1b}[2J\\u{a}b (x, 422)")
    }

    @Test func `what value is wrong is told by its name, and not by a pointer`() {
        let problem = ProblemDetails(
            status: 422, code: "invalid-value", detail: "The value must be a number.",
            pointer: "/retry/attempts")
        let text = ClientError.refused(problem).description
        #expect(text == "The value must be a number: retry.attempts (invalid-value, 422)")
    }

    @Test func `a gateway on a unix socket is talked to`() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("ferry.sock")
        let server = try UnixServer(
            path: path, answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        let answer = try await onThread { () throws(ClientError) in
            let gateway = RemoteGateway(
                address: try GatewayAddress(parsing: "unix:\(path)"), token: "fry_t")
            return try GatewayClient(gateway).json("GET", "/v1/gateway")
        }
        #expect(answer == .object([]))
        let request = try await server.request.value
        #expect(request.hasPrefix("GET /v1/gateway HTTP/1.1\r\nHost: localhost\r\n"))
        #expect(request.contains("\r\nAuthorization: Bearer fry_t\r\n"))
    }
}

/// Answers one request on a unix socket.
private struct UnixServer {
    /// The head of the request.
    let request: Task<String, any Error>

    init(path: String, answer: String) throws {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(listener, 1) == 0)
        request = Task {
            try await onThread { () throws(ClientError) in
                let connection = accept(listener, nil, nil)
                defer {
                    close(connection)
                    close(listener)
                }
                var text = ""
                var room = [UInt8](repeating: 0, count: 4096)
                while !text.hasSuffix("\r\n\r\n") {
                    let count = read(connection, &room, room.count)
                    guard count > 0 else { break }
                    text += String(decoding: room.prefix(count), as: UTF8.self)
                }
                _ = Array(answer.utf8).withUnsafeBytes {
                    write(connection, $0.baseAddress, $0.count)
                }
                return text
            }
        }
    }
}
