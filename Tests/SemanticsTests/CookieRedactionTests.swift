import Semantics
import Testing

/// Security §5: events tell of cookies, and never of their values.
@Suite
struct CookieRedactionTests {
    @Test(arguments: [
        ("id=secret; Path=/; HttpOnly", "id=<redacted>; Path=/; HttpOnly"),
        ("id=secret", "id=<redacted>"), ("secret", "<redacted>"), ("id=", "id=<redacted>"),
        ("id=a=b;c", "id=<redacted>;c"), ("=secret; Secure", "=<redacted>; Secure"),
        ("secret; Path=/x", "<redacted>; Path=/x"), ("", "<redacted>"),
    ])
    func `the value of a Set-Cookie field is hidden, and its name is not`(
        field: String, shown: String
    ) {
        let response = Self.response(["X": "id=kept", "set-cookie": field])
        #expect(
            response.withoutCookieValues.headers == ["X": "id=kept", "set-cookie": shown])
    }

    @Test func `whatever event shows a response hides them`() {
        let response = Self.response(["Set-Cookie": "id=secret"])
        let hidden = Self.response(["Set-Cookie": "id=<redacted>"])
        let notice = DecisionNotice(
            id: DecisionID(rawValue: 1), kind: .cache, deadline: Timestamp(milliseconds: 0))
        #expect(
            EventBody.didReceiveResponse(response).withoutCookieValues
                == .didReceiveResponse(hidden))
        #expect(
            EventBody.willCacheResponse(response, decision: notice).withoutCookieValues
                == .willCacheResponse(hidden, decision: notice))
        #expect(
            EventBody.didReceiveInformationalResponse(status: 103, headers: response.headers)
                .withoutCookieValues
                == .didReceiveInformationalResponse(status: 103, headers: hidden.headers))
        let space = ProtectionSpace(host: "h", port: 80, scheme: "http", method: .basic)
        #expect(
            EventBody.didReceiveChallenge(
                Challenge(space, failureResponse: response), decision: notice
            ).withoutCookieValues
                == .didReceiveChallenge(
                    Challenge(space, failureResponse: hidden), decision: notice))
        #expect(EventBody.didCreate.withoutCookieValues == .didCreate)
    }

    private static func response(_ headers: HeaderList) -> ResponseRecord {
        ResponseRecord(
            url: "http://origin.test/", status: 200, httpVersion: "1.1", headers: headers,
            expectedContentLength: 0, mimeType: nil, textEncodingName: nil,
            suggestedFilename: "f")
    }
}
