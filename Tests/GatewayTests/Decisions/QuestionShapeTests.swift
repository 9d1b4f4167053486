import Contract
import Engine
import JSON
import Semantics
import TestSupport
import Testing

@testable import REST

/// The data of the events that ask (S-65, S-70 to S-72, S-75), as openapi.yaml has them.
struct QuestionShapeTests {
    private static let response = ResponseRecord(
        url: "https://host/a", status: 401, httpVersion: "2",
        headers: HeaderList([HeaderField("WWW-Authenticate", "Basic")]), expectedContentLength: 3,
        mimeType: "text/plain", textEncodingName: nil, suggestedFilename: "a")
    private static let notice = DecisionNotice(
        id: DecisionID(rawValue: 1), kind: .sessionChallenge,
        deadline: Timestamp(milliseconds: 61_000))

    private static func json(_ body: EventBody) throws -> TestJSON {
        let event = Event(
            tenant: TenantID(rawValue: 1), session: SessionID(rawValue: 2),
            task: TaskID(rawValue: 3), at: Timestamp(milliseconds: 1000), body: body)
        return try TestJSON(parsing: event.data(sharedSession: false))
    }

    @Test func `server trust is shown with its whole chain and what is wrong with it (S-75)`()
        throws
    {
        let certificate = CertificateRecord(
            pem: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
            subject: "CN=host", issuer: "CN=an \"authority\"", serialNumber: "0A",
            notBefore: Timestamp(milliseconds: 0), notAfter: Timestamp(milliseconds: 86_400_000),
            alternativeNames: ["host", "::1"], fingerprint: [UInt8](repeating: 0, count: 32))
        let trust = ServerTrust(
            chain: [certificate],
            failures: [VerificationFailure(code: 10, message: "has expired", depth: 0)])
        let space = ProtectionSpace(
            host: "host", port: 443, scheme: "https", method: .serverTrust)
        let json = try Self.json(
            .didReceiveChallenge(Challenge(space, serverTrust: trust), decision: Self.notice))
        let shown = json["challenge"]["protectionSpace"]["serverTrust"]
        #expect(
            shown["certificates"] == [
                [
                    "pem": .string(certificate.pem), "subject": "CN=host",
                    "issuer": "CN=an \"authority\"", "serialNumber": "0A",
                    "notBefore": "1970-01-01T00:00:00.000Z",
                    "notAfter": "1970-01-02T00:00:00.000Z",
                    "subjectAlternativeNames": ["host", "::1"],
                    "fingerprint": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:",
                ]
            ])
        #expect(
            shown["evaluation"] == [
                "trusted": false,
                "failures": [["code": 10, "message": "has expired", "depth": 0]],
            ])
        #expect(json["challenge"].object?["failureResponse"] == .null)
        #expect(
            json["decision"] == [
                "id": "dec_000000000001", "kind": "challenge",
                "deadline": "1970-01-01T00:01:01.000Z",
            ])
    }

    @Test func `a certificate that verifies is told to be trusted (S-75)`() throws {
        let space = ProtectionSpace(
            host: "host", port: 443, scheme: "https", method: .serverTrust)
        let challenge = Challenge(space, serverTrust: ServerTrust(chain: [], failures: []))
        let json = try Self.json(.didReceiveChallenge(challenge, decision: Self.notice))
        let evaluation = json["challenge"]["protectionSpace"]["serverTrust"]["evaluation"]
        #expect(evaluation == ["trusted": true, "failures": []])
    }

    @Test func `a proxy's challenge tells all but the secret (S-65)`() throws {
        let space = ProtectionSpace(
            host: "proxy", port: 3128, scheme: "http", realm: "a \"b\"", method: .digest,
            isProxy: true)
        let secret = Credential(.password(user: "u", password: "secret"), persistence: .forSession)
        let challenge = Challenge(
            space, previousFailureCount: 2, proposedCredential: ShownCredential(secret),
            failureResponse: Self.response)
        let json = try Self.json(.didReceiveChallenge(challenge, decision: Self.notice))
        let shown = json["challenge"]
        #expect(shown["protectionSpace"]["isProxy"].bool == true)
        #expect(shown["protectionSpace"]["realm"].string == "a \"b\"")
        #expect(shown["protectionSpace"]["receivesCredentialSecurely"].bool == true)
        #expect(shown["previousFailureCount"].int == 2)
        #expect(shown["proposedCredential"] == ["user": "u", "persistence": "forSession"])
        #expect(shown["failureResponse"]["headers"] == [["WWW-Authenticate", "Basic"]])
    }

    @Test func `a client certificate is asked for with the names that are accepted (S-63)`()
        throws
    {
        let space = ProtectionSpace(
            host: "host", port: 443, scheme: "https", method: .clientCertificate)
        let identity = Credential(.identity(.pem(certificate: "c", key: "k")))
        let challenge = Challenge(
            space, proposedCredential: ShownCredential(identity),
            distinguishedNames: ["CN=an authority,O=here"])
        let json = try Self.json(.didReceiveChallenge(challenge, decision: Self.notice))
        let shown = json["challenge"]
        #expect(
            shown["protectionSpace"]["authenticationMethod"].string
                == "NSURLAuthenticationMethodClientCertificate")
        #expect(shown["protectionSpace"]["distinguishedNames"] == ["CN=an authority,O=here"])
        #expect(shown["protectionSpace"].object?["realm"] == .null)
        #expect(shown["proposedCredential"] == ["user": nil, "persistence": "none"])
    }

    @Test func `a response to be cached is shown with its question (S-71)`() throws {
        let notice = DecisionNotice(
            id: DecisionID(rawValue: 1), kind: .cache, deadline: Timestamp(milliseconds: 0))
        let json = try Self.json(.willCacheResponse(Self.response, decision: notice))
        #expect(json["response"]["status"].int == 401)
        #expect(json["decision"]["kind"].string == "cache")
    }

    @Test func `a decision's event is what was sent, and its deadline may be a later one (S-56)`()
        throws
    {
        let request = RequestRecord(
            url: WebURL(
                string: "http://host/", scheme: "http", host: "host", port: 80, path: "/"),
            headers: HeaderList([HeaderField("Authorization", "secret")]))
        let body = EventBody.willBeginDelayedRequest(request, decision: Self.notice)
        var record = DecisionRecord(
            id: Self.notice.id, tenant: TenantID(rawValue: 1), session: SessionID(rawValue: 2),
            task: TaskID(rawValue: 3), kind: .delayedRequest,
            createdAt: Timestamp(milliseconds: 1000), deadline: Self.notice.deadline,
            question: body)
        record.deadline = Timestamp(milliseconds: 121_000)
        let shown = try Self.shown(record)
        #expect(shown["event"] == (try Self.json(body)))
        #expect(shown["event"]["request"]["headers"] == ["Authorization": "<redacted>"])
        #expect(shown["deadline"].string == "1970-01-01T00:02:01.000Z")
        #expect(shown["event"]["decision"]["deadline"].string == "1970-01-01T00:01:01.000Z")
        #expect(shown["state"].string == "pending" && shown["kind"].string == "delayedRequest")
    }

    private static func shown(_ record: DecisionRecord) throws -> TestJSON {
        var json = JSONWriter()
        record.write(to: &json, sharedSession: false)
        return try TestJSON(parsing: json.finish())
    }
}
