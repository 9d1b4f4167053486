import Semantics

/// The order of one task's events (§5, S-57), as far as it can be told from the events alone.
///
/// What begins another attempt may follow a response, and the bytes of one: an authentication, a
/// redirect, a new body, a retry, a download that goes on by range. Progress is only for those who
/// listen, so nothing rests on its having come.
struct EventOrder {
    private var stage: Stage
    /// Whether a response was told; nil where that may have been before a restart.
    private var hasResponse: Bool?
    private var last: String?

    /// - Parameter isRecovered: whether the task is from before a restart of the gateway, and so
    ///   are its first events.
    init(isRecovered: Bool = false) {
        stage = isRecovered ? .recovered : .new
        hasResponse = isRecovered ? nil : false
    }

    /// The download is what a data task has become, and goes on behind that one's response (S-70).
    mutating func inheritResponse() {
        stage = .responded
        hasResponse = true
    }

    /// Whether nothing may follow.
    var isOver: Bool { stage == .over }

    /// Takes the next event; after one that may not come there, the order goes on from it.
    ///
    /// - Returns: a sentence where the event may not come there.
    mutating func take(_ body: EventBody) -> String? {
        if let mayCome = mayComeAside(body) {
            return mayCome ? nil : "\(body.name) \(place)."
        }
        let step = EventOrder.step(for: body)
        let fault = fault(of: body, step)
        if stage != .over { stage = step.next }
        if case .didReceiveResponse = body { hasResponse = true }
        last = body.name
        return fault
    }

    /// Of an event that is told beside the others, and moves nothing: whether it may come; nil for
    /// any other.
    private func mayComeAside(_ body: EventBody) -> Bool? {
        switch body {
        case .didChange: ![.new, .collected, .over].contains(stage)
        case .didDelete: stage == .over || stage == .recovered
        default: nil
        }
    }

    private var place: String { last.map { "may not follow \($0)" } ?? "may not be the first" }

    private func fault(of body: EventBody, _ step: Step) -> String? {
        if step.places.contains(stage) { return faultOfMatter(body).map { "\(body.name) \($0)." } }
        if stage == .attempt, step.isOfContent, hasResponse != false { return nil }
        return "\(body.name) \(place)."
    }

    /// What is wrong with an event that has the right place.
    private func faultOfMatter(_ body: EventBody) -> String? {
        switch body {
        case .didResumeAtOffset where hasResponse == true: "comes behind a response"
        case .didSendBodyData(let new, let total, _)
        where Stage.content.contains(stage) && new != total:
            "goes on behind a response"
        case .didComplete(nil) where hasResponse == false: "tells of success without a response"
        default: nil
        }
    }

    private enum Stage: Hashable {
        /// Nothing was told of the task.
        case new
        case created
        /// Something was told of an attempt, or of what the next one shall be.
        case attempt
        /// S-36: the response comes next.
        case resumed
        case responded, receiving, caching, downloaded, collected, over
        /// Anything may have been told.
        case recovered

        static let beforeResponse: Set<Stage> = [.created, .attempt, .recovered]
        static let content: Set<Stage> = [.responded, .receiving]
        static let anyAttempt = beforeResponse.union(content)
    }

    private struct Step {
        let places: Set<Stage>
        let next: Stage
        /// Whether it may also come in another attempt than its response: a download goes on by
        /// range.
        var isOfContent = false
    }

    private static func step(for body: EventBody) -> Step {
        let content = Stage.content.union([.recovered])
        return switch body {
        case .didCreate: Step(places: [.new], next: .created)
        case .willBeginDelayedRequest: Step(places: [.created, .recovered], next: .attempt)
        case .needNewBodyStream, .didReceiveInformationalResponse, .didReceiveChallenge,
            .willPerformHTTPRedirection, .willRetry, .didSendBodyData, .isWaitingForConnectivity:
            Step(places: Stage.anyAttempt, next: .attempt)
        case .didResumeAtOffset: Step(places: Stage.beforeResponse, next: .resumed)
        case .didReceiveResponse:
            Step(places: Stage.anyAttempt.union([.resumed]), next: .responded)
        case .didReceiveData: Step(places: content, next: .receiving)
        case .didWriteData: Step(places: content, next: .receiving, isOfContent: true)
        case .willCacheResponse: Step(places: content, next: .caching, isOfContent: true)
        case .didFinishDownloading:
            Step(places: content.union([.caching]), next: .downloaded, isOfContent: true)
        case .didFinishCollectingMetrics:
            Step(places: Stage.anyAttempt.union([.caching, .downloaded]), next: .collected)
        case .didComplete: Step(places: [.collected], next: .over)
        case .didBecomeDownloadTask: Step(places: [.responded, .recovered], next: .over)
        case .didChange, .didDelete, .didBecomeInvalid, .didChangeCredentialStorage,
            .didFinishEvents, .didDisableWebhook:
            Step(places: [], next: .over)
        }
    }
}
