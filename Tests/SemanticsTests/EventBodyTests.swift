import Testing

import Semantics

struct EventBodyTests {
    private static let url = WebURL(string: "-", scheme: "http", host: "a", port: 80, path: "/")
    private static let request = RequestRecord(url: url)
    private static let response = ResponseRecord(
        url: "http://a/", status: 200, httpVersion: "1.1", headers: [:], expectedContentLength: 0,
        mimeType: nil, textEncodingName: nil, suggestedFilename: "a")
    private static let challenge = Challenge(ProtectionSpace(url.origin, method: .ntlm))

    private static func notice(_ kind: DecisionKind) -> DecisionNotice {
        DecisionNotice(
            id: DecisionID(rawValue: 1), kind: kind, deadline: Timestamp(milliseconds: 0))
    }

    @Test(
        arguments: [
            (
                .needNewBodyStream(generation: 1, decision: notice(.bodyStream)),
                "task.needNewBodyStream", .bodyStream
            ),
            (.didReceiveResponse(response), "task.didReceiveResponse", nil),
            (
                .didReceiveResponse(response, decision: notice(.response)),
                "task.didReceiveResponse", .response
            ),
            (
                .didReceiveChallenge(challenge, decision: notice(.sessionChallenge)),
                "session.didReceiveChallenge", .sessionChallenge
            ),
            (
                .didReceiveChallenge(challenge, decision: notice(.taskChallenge)),
                "task.didReceiveChallenge", .taskChallenge
            ),
            (
                .willPerformHTTPRedirection(
                    response, request: request, decision: notice(.redirect)),
                "task.willPerformHTTPRedirection", .redirect
            ),
            (
                .willCacheResponse(response, decision: notice(.cache)),
                "task.willCacheResponse", .cache
            ),
            (
                .willBeginDelayedRequest(request, decision: notice(.delayedRequest)),
                "task.willBeginDelayedRequest", .delayedRequest
            ),
            (.didBecomeDownloadTask(TaskID(rawValue: 1)), "task.didBecomeDownloadTask", nil),
            (.didChange([.priority(1)]), "task.didChange", nil),
            (.didDelete, "task.didDelete", nil),
            (.didCreate, "task.didCreate", nil), (.didComplete(nil), "task.didComplete", nil),
        ] as [(EventBody, String, DecisionKind?)])
    func `§7: an event has its name, and the decision that it asks for`(
        body: EventBody, name: String, kind: DecisionKind?
    ) {
        #expect(body.name == name)
        #expect(body.decision == kind.map(Self.notice))
        #expect(!body.isProgress)
    }

    @Test(
        arguments: [
            (.didBecomeDownloadTask(TaskID(rawValue: 1)), true), (.didComplete(nil), true),
            (.didChange([.priority(1)]), false), (.didDelete, false),
            (.didBecomeInvalid(nil), true), (.didFinishDownloading(), false),
            (.didFinishCollectingMetrics(TaskMetrics()), false),
            (.didReceiveResponse(response, decision: notice(.response)), false),
            (.willCacheResponse(response, decision: notice(.cache)), false),
        ] as [(EventBody, Bool)])
    func `S-57, S-70: what ends a task, or a session, is its last`(
        body: EventBody, isTerminal: Bool
    ) {
        #expect(body.isTerminal == isTerminal)
    }
}
