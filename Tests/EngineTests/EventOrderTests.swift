import Semantics
import Testing

/// The order that every other test of a task is held against, held against §5 itself.
struct EventOrderTests {
    /// The first fault of a story, and the place of its event.
    private func firstFault(
        in story: [EventBody], _ order: EventOrder = EventOrder()
    ) -> (index: Int, sentence: String)? {
        var order = order
        for (index, body) in story.enumerated() {
            if let sentence = order.take(body) { return (index, sentence) }
        }
        return nil
    }

    @Test(
        arguments: [
            [.create, .response, .data, .data, .metrics, .complete],
            [.create, .response, .metrics, .complete],
            [.create, .metrics, .failure], [.create, .retry, .metrics, .failure],
            [.create, .resumption, .response, .written, .downloaded, .metrics, .complete],
            [
                .create, .delayed, .challenge, .body, .sent, .sent, .redirect, .challenge, .body,
                .sent,
                .informational, .response, .data, .cache, .metrics, .complete,
            ],
            // A body begins anew in another attempt, behind the response of the last.
            [.create, .sent, .response, .sentAnew, .response, .metrics, .complete],
            [.create, .response, .data, .body, .sent, .response, .data, .metrics, .complete],
            // S-46: every part has its response.
            [.create, .response, .data, .response, .response, .data, .metrics, .complete],
            // A download goes on by range, without a response of the new attempt.
            [.create, .response, .written, .retry, .written, .downloaded, .metrics, .complete],
            [
                .create, .response, .written, .challenge, .informational, .downloaded, .metrics,
                .complete,
            ],
            // Its entity has changed: from zero, with another response.
            [.create, .response, .written, .retry, .response, .written, .metrics, .failure],
            [.create, .response, .becameDownload],
            // Beside all others; what is gone is told after the end.
            [
                .create, .change, .response, .change, .data, .change, .metrics, .complete,
                .didDelete,
            ],
            [
                .create, .retry, .change, .resumption, .change, .response, .data, .metrics,
                .complete,
            ],
            [.create, .informational, .challenge, .response, .becameDownload],
        ] as [[EventBody]])
    func `§5: what may happen to a task is in order`(story: [EventBody]) {
        let fault = firstFault(in: story)
        #expect(fault == nil, "\(fault?.sentence ?? "")")
    }

    @Test(
        arguments: [
            // didCreate, first and once.
            [.response], [.metrics], [.delayed], [.create, .create],
            [.create, .response, .create],
            // The end, in its order, once, and nothing behind it.
            [.create, .complete], [.create, .response, .complete],
            [.create, .response, .metrics, .metrics],
            [.create, .response, .metrics, .data], [.create, .response, .metrics, .downloaded],
            [.create, .response, .downloaded, .written], [.create, .response, .downloaded, .retry],
            [.create, .response, .downloaded, .response],
            [.create, .metrics, .failure, .failure], [.create, .metrics, .failure, .create],
            [.create, .metrics, .failure, .written],
            [.create, .metrics, .complete],
            // Content behind its response.
            [.create, .data], [.create, .written], [.create, .downloaded], [.create, .cache],
            [.create, .challenge, .written], [.create, .response, .retry, .data],
            [.create, .response, .challenge, .data],
            [.create, .response, .cache, .data], [.create, .response, .cache, .cache],
            [.create, .response, .cache, .response],
            // Before the response.
            [.create, .response, .sent], [.create, .response, .data, .sent],
            [.create, .response, .resumption], [.create, .resumption, .written],
            [.create, .resumption, .resumption], [.create, .response, .retry, .resumption],
            // Before the first attempt.
            [.create, .delayed, .delayed], [.create, .challenge, .delayed],
            [.create, .body, .delayed], [.create, .response, .delayed],
            // S-70.
            [.create, .becameDownload], [.create, .response, .data, .becameDownload],
            [.create, .response, .becameDownload, .metrics],
            [.create, .response, .becameDownload, .data],
            [.change], [.create, .metrics, .failure, .change],
            [.create, .response, .metrics, .change],
            [.create, .didDelete], [.create, .response, .becameDownload, .change],
            // S-9: no task's.
            [.create, .didBecomeInvalid(nil)],
        ] as [[EventBody]])
    func `§5, S-57: the last of these may not come there`(story: [EventBody]) throws {
        let fault = try #require(firstFault(in: story))
        #expect(fault.index == story.count - 1, "\(fault.sentence)")
        #expect(fault.sentence.hasPrefix("\(story[fault.index].name) "))
    }

    @Test func `S-70: a download that was a data task begins with its bytes`() {
        var heir = EventOrder()
        #expect(heir.take(.create) == nil)
        heir.inheritResponse()
        let story: [EventBody] = [.written, .downloaded, .metrics, .complete]
        #expect(firstFault(in: story, heir) == nil)
        #expect(firstFault(in: [.downloaded, .metrics, .complete], heir) == nil)
        #expect(firstFault(in: [.resumption], heir)?.index == 0)
    }

    @Test(
        arguments: [
            [.delayed, .response, .data], [.challenge, .written, .downloaded, .metrics, .complete],
            [.response, .data, .metrics, .complete], [.metrics, .failure], [.becameDownload],
            [.data, .metrics, .complete], [.cache, .metrics, .complete], [.retry, .resumption],
        ] as [[EventBody]])
    func `S-56: a task from before a restart goes on from anywhere`(story: [EventBody]) {
        let fault = firstFault(in: story, EventOrder(isRecovered: true))
        #expect(fault == nil, "\(fault?.sentence ?? "")")
    }

    @Test func `S-56: a restart creates no task again, and spares none its metrics`() {
        #expect(firstFault(in: [.create], EventOrder(isRecovered: true))?.index == 0)
        #expect(firstFault(in: [.failure], EventOrder(isRecovered: true))?.index == 0)
    }

    @Test func `a fault names both events, and the order goes on behind it`() {
        var order = EventOrder()
        #expect(order.take(.response) == "task.didReceiveResponse may not be the first.")
        #expect(order.take(.create) == "task.didCreate may not follow task.didReceiveResponse.")
        #expect(order.take(.metrics) == nil)
        #expect(!order.isOver)
        #expect(order.take(.failure) == nil)
        #expect(order.isOver)
        #expect(order.take(.metrics) != nil)
        #expect(order.isOver)
    }
}

/// One of each, as short as a story wants them.
extension EventBody {
    private static let url = WebURL(string: "-", scheme: "http", host: "a", port: 80, path: "/")
    private static let head = ResponseRecord(
        url: "http://a/", status: 200, httpVersion: "1.1", headers: [:],
        expectedContentLength: unknownSize, mimeType: nil, textEncodingName: nil,
        suggestedFilename: "a")

    private static func notice(_ kind: DecisionKind) -> DecisionNotice {
        DecisionNotice(
            id: DecisionID(rawValue: 1), kind: kind, deadline: Timestamp(milliseconds: 0))
    }

    fileprivate static let create = didCreate
    fileprivate static let delayed = willBeginDelayedRequest(
        RequestRecord(url: url), decision: notice(.delayedRequest))
    fileprivate static let challenge = didReceiveChallenge(
        Challenge(ProtectionSpace(url.origin, method: .basic)), decision: notice(.taskChallenge))
    fileprivate static let body = needNewBodyStream(generation: 1, decision: notice(.bodyStream))
    fileprivate static let sent = didSendBodyData(
        bytesSent: 1, totalBytesSent: 2, totalBytesExpectedToSend: 3)
    fileprivate static let sentAnew = didSendBodyData(
        bytesSent: 1, totalBytesSent: 1, totalBytesExpectedToSend: 3)
    fileprivate static let redirect = willPerformHTTPRedirection(
        head, request: RequestRecord(url: url), decision: notice(.redirect))
    fileprivate static let informational = didReceiveInformationalResponse(
        status: 103, headers: [:])
    fileprivate static let change = didChange([.priority(1)])
    fileprivate static let retry = willRetry(attempt: 2, delay: 1, reason: "x")
    fileprivate static let resumption = didResumeAtOffset(fileOffset: 1, expectedTotalBytes: 2)
    fileprivate static let response = didReceiveResponse(head)
    fileprivate static let data = didReceiveData(offset: 0, length: 1, inline: false, bytes: nil)
    fileprivate static let written = didWriteData(
        bytesWritten: 1, totalBytesWritten: 1, totalBytesExpectedToWrite: 1)
    fileprivate static let cache = willCacheResponse(head, decision: notice(.cache))
    fileprivate static let downloaded = didFinishDownloading()
    fileprivate static let metrics = didFinishCollectingMetrics(TaskMetrics())
    fileprivate static let complete = didComplete(nil)
    fileprivate static let failure = didComplete(.url(.cancelled))
    fileprivate static let becameDownload = didBecomeDownloadTask(TaskID(rawValue: 2))
}
