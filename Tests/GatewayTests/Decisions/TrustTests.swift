import TestSupport
import Testing

/// A server's certificate, shown to the delegate before a byte of the request goes out (S-63,
/// S-75).
@Suite(.sharedGateway)
struct TrustTests {
    private let client: TestClient
    private let forge: CertificateForge
    private let origin: SecureOrigin

    init() async throws {
        client = try RunningGateway.shared.client
        forge = try await CertificateForge()
        origin = try await SecureOrigin(try await forge.leaf())
    }

    private func trusting(_ fingerprint: TestJSON) -> TestJSON {
        ["disposition": "useCredential", "credential": ["serverTrust": fingerprint]]
    }

    @Test func `a leaf that is accepted is trusted by its session, and asked once (S-75)`()
        async throws
    {
        let (session, events) = try await client.createAskingSession("sessionChallenge")
        let first = try await session.start("data", origin.url())
        let question = try await events.question()
        #expect(question.event.event == "session.didReceiveChallenge")
        #expect(question.event.json["task"].string == first && question.kind == "challenge")
        #expect(
            question.space["authenticationMethod"].string
                == "NSURLAuthenticationMethodServerTrust")
        #expect(question.space["host"].string == "localhost")
        #expect(question.space["protocol"].string == "https")
        #expect(question.challenge.object?["failureResponse"] == .null)
        let trust = question.space["serverTrust"]
        #expect(trust["evaluation"]["trusted"].bool == false)
        #expect(trust["evaluation"]["failures"][0]["message"].string?.isEmpty == false)
        let leaf = trust["certificates"][0]
        #expect(leaf["pem"].string?.hasPrefix("-----BEGIN CERTIFICATE-----\n") == true)
        #expect(leaf["subject"].string?.isEmpty == false)
        #expect(try await client.decision(question.id)["event"]["challenge"] == question.challenge)

        let other = "sha-256=:" + Base64Text.text([UInt8](repeating: 0, count: 32)) + ":"
        let refused = try await client.answer(question, trusting(.string(other)))
        #expect(refused.status == 422 && refused.problem == "credential-not-usable")
        try await client.decide(question, trusting(leaf["fingerprint"]))
        #expect(try await client.completedTask(first)["response"]["status"].int == 200)
        let second = try await session.run("data", origin.url())
        #expect(second["error"].isNull)
        // Another session has accepted nothing.
        let (stranger, asked) = try await client.createAskingSession("challenge")
        let third = try await stranger.start("data", origin.url())
        let again = try await asked.question()
        try await client.decide(again, .disposition("performDefaultHandling"))
        #expect(try await client.completedTask(third).errorCode ?? 0 <= -1200)
    }

    @Test(arguments: ["performDefaultHandling", "cancelAuthenticationChallenge"])
    func `a leaf that is not accepted ends the task with -1202 or its kin (S-66, S-75)`(
        disposition: String
    ) async throws {
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url())
        try await client.decide(try await events.question(), .disposition(disposition))
        let code = try await client.completedTask(id).errorCode ?? 0
        #expect((-1204 ... -1201).contains(code))
    }
}
