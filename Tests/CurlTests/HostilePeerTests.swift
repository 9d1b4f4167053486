import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Whatever a peer sends, the loop goes on turning: others are served, and timers fire.
@Suite(.serialized) struct HostilePeers {
    init() { TestLoop.start() }

    /// Far beyond what any turn takes, and far below what reading without end takes.
    private static let bound = Duration.milliseconds(500)

    /// What a proxy may say to CONNECT.
    enum Refusal: CaseIterable, Sendable {
        case endlessChunks, longBody, endlessBody, endlessLine, endlessLines, endlessInformationals

        func send(_ status: Int, on exchange: Exchange) throws {
            let challenge = HeaderLines(
                dictionaryLiteral: ("Proxy-Authenticate", "Basic realm=\"p\""),
                ("Proxy-Authenticate", "NTLM"))
            let piece = String(repeating: "x", count: 16_384)
            switch self {
            case .endlessChunks:
                try exchange.head(status, challenge.appending(["Transfer-Encoding": "chunked"]))
                while true { try exchange.chunk(piece) }
            case .longBody:
                try exchange.head(status, challenge.appending(["Content-Length": "300000000"]))
                for _ in 0..<20_000 { try exchange.body(piece) }
            case .endlessBody:
                try exchange.head(status, challenge)
                while true { try exchange.body(piece) }
            case .endlessLine:
                try exchange.send("HTTP/1.1 \(status) No\r\nX-Long: ")
                while true { try exchange.send(piece) }
            case .endlessLines:
                try exchange.send("HTTP/1.1 \(status) No\r\n")
                while true { try exchange.send("X-Another: \(piece.prefix(50))\r\n") }
            case .endlessInformationals:
                while true { try exchange.send("HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n") }
            }
        }
    }

    @LoopActor
    @Test(arguments: Refusal.allCases, [nil, AttemptCredential.Scheme.basic, .ntlm])
    func `a proxy's answer to CONNECT holds nobody up, however long it is`(
        refusal: Refusal, scheme: AttemptCredential.Scheme?
    ) async throws {
        let proxy = try ScriptedOrigin()
        for status in [407, 503] {
            proxy.otherwise(Behaviour { try refusal.send(status, on: $0) })
            try await Self.expectShortTurns {
                let probe = try await Network().run("https://localhost:9443/") {
                    $0.proxy = proxy.address
                    $0.proxyCredential = scheme.map {
                        AttemptCredential($0, user: "ann", password: "pw")
                    }
                }
                #expect(probe.error != nil && probe.offeredHeads.isEmpty)
                switch refusal {
                case .endlessBody where scheme == .ntlm: break  // libcurl asks again on another connection
                case .endlessChunks, .longBody, .endlessBody:
                    #expect(probe.ends[0].tunnelResponse?.status == status)
                case .endlessLine, .endlessLines, .endlessInformationals:
                    #expect(probe.ends[0].tunnelResponse == nil)
                }
            }
        }
    }

    /// Runs an exchange until one has not been disturbed: other tests are on the same loop, and take their turns.
    @LoopActor
    private static func expectShortTurns(_ run: @LoopActor () async throws -> Void) async throws {
        var turns: [Duration] = []
        while turns.count < 10 {
            let gauge = LoopGauge()
            try await run()
            guard gauge.longestTurn >= bound else { return }
            turns.append(gauge.longestTurn)
        }
        Issue.record("The longest turns took \(turns).")
    }
}
