import Semantics
import Testing

/// When events are posted again, and what they are signed with.
@Suite struct DeliveryScheduleTests {
    private func verdict(
        _ status: Int?, retryAfter: Duration? = nil, tries: Int = 1, age: Duration = .zero,
        jitter: Double = 0.5
    ) -> DeliverySchedule.Verdict {
        DeliverySchedule.verdict(
            status: status, retryAfter: retryAfter, tries: tries, age: age, jitter: jitter)
    }

    @Test(arguments: [200, 201, 204, 299])
    func `any 2xx takes an event`(status: Int) {
        #expect(verdict(status) == .taken)
    }

    @Test func `eleven waits over three days follow, and then it is given up`() {
        let hour = 3600
        let waits = [
            5, 30, 120, 600, 1800, hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, 24 * hour,
        ]
        for jitter in [0, 0.5, 1] {
            var age = Duration.zero
            for (index, wait) in waits.enumerated() {
                let wait = Duration.seconds(wait) * (0.9 + 0.2 * jitter)
                for status in [nil, 100, 301, 404, 500] {
                    let verdict = verdict(status, tries: index + 1, age: age, jitter: jitter)
                    guard case .again(let delay) = verdict else {
                        Issue.record("\(verdict)"); return
                    }
                    #expect(abs((delay - wait).milliseconds) <= 1)
                }
                age += wait
            }
            #expect(verdict(500, tries: 12, age: age, jitter: jitter) == .givenUp)
        }
        #expect(waits.reduce(0, +) >= 70 * hour)
    }

    @Test func `what is tried more often, early, is not given up for it`() {
        #expect(verdict(500, tries: 99) == .again(after: .seconds(86_400)))
        #expect(
            verdict(503, retryAfter: .seconds(86_400), tries: 3, age: .seconds(3 * 86_400))
                == .givenUp)
    }

    @Test func `what failed together does not come back together`() {
        #expect(verdict(nil, tries: 2, jitter: 0) == .again(after: .seconds(27)))
        #expect(verdict(nil, tries: 2, jitter: 1) == .again(after: .seconds(33)))
    }

    @Test func `429 and 503 say themselves how long at least, up to a day`() {
        #expect(verdict(429, retryAfter: .seconds(77)) == .again(after: .seconds(77)))
        #expect(verdict(503, retryAfter: .zero) == .again(after: .seconds(5)))
        #expect(verdict(503, retryAfter: .seconds(1 << 30)) == .again(after: .seconds(86_400)))
        #expect(verdict(500, retryAfter: .seconds(77)) == .again(after: .seconds(5)))
    }

    @Test func `410 wants no events any more, however often it was tried`() {
        #expect(verdict(410) == .unwanted)
        #expect(verdict(410, tries: 12) == .unwanted)
    }

    // MARK: Secrets

    @Test func `a secret is written as receivers' libraries read it`() throws {
        let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let secret = try #require(WebhookSecret(text))
        #expect(secret.bytes.count == 24 && secret.text == text)
    }

    @Test(arguments: [
        "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS_", "whsec_AAAA",
    ])
    func `what is no secret is refused`(text: String) {
        #expect(WebhookSecret(text) == nil)
    }

    @Test func `a new secret is another one each time`() {
        var generator = SystemRandomNumberGenerator()
        let secrets = (0..<8).map { _ in WebhookSecret(using: &generator) }
        #expect(Set(secrets).count == 8 && secrets.allSatisfy { $0.bytes.count == 32 })
    }

    @Test func `an old secret signs until its time is over`() throws {
        let old = try #require(WebhookSecret(bytes: Array(repeating: 1, count: 24)))
        let new = try #require(WebhookSecret(bytes: Array(repeating: 2, count: 24)))
        var webhook = WebhookRecord(
            id: WebhookID(rawValue: 1), tenant: .operatorTenant, session: nil,
            url: WebURL(string: "http://a/", scheme: "http", host: "a", port: 80, path: "/"),
            events: .all, description: nil, createdAt: Timestamp(milliseconds: 0), secret: new,
            cursor: 0)
        #expect(webhook.signers(at: KeptTime(milliseconds: 5)) == [new])
        webhook.formerSecret = .init(old, until: KeptTime(milliseconds: 6))
        #expect(webhook.signers(at: KeptTime(milliseconds: 5)) == [new, old])
        #expect(webhook.signers(at: KeptTime(milliseconds: 6)) == [new])
    }

    // MARK: Names

    @Test func `neither progress nor data can be asked for`() {
        let progress: [EventBody] = [
            .didWriteData(bytesWritten: 1, totalBytesWritten: 1, totalBytesExpectedToWrite: 1),
            .didSendBodyData(bytesSent: 1, totalBytesSent: 1, totalBytesExpectedToSend: 1),
            .didReceiveData(offset: 0, length: 1, inline: true, bytes: nil),
        ]
        for body in progress { #expect(!WebhookEvents.all.contains(body.name)) }
        let others: [EventBody] = [.didCreate, .didFinishEvents, .didComplete(nil)]
        for body in others {
            #expect(WebhookEvents.all.contains(body.name))
            #expect(WebhookEvents.some([body.name]).contains(body.name))
            #expect(!WebhookEvents.some(["task.willRetry"]).contains(body.name))
        }
    }
}
