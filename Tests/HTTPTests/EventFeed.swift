import HTTP
import Loop

/// A stream of events as its owner keeps it: numbered ones in a history, all of them in the log.
@LoopActor
final class EventFeed: EventHistory {
    struct Lost: Error {}

    let log: EventLog
    private(set) var pages = 0
    /// Set: the history answers no more.
    var isBroken = false
    private var turn: LoopTimer?
    private var saved: [EncodedEvent] = []

    init(byteLimit: Int = 256 << 10) {
        log = EventLog(startingAfter: 0, byteLimit: byteLimit)
    }

    /// Publishes the next numbered event.
    func publish(_ name: String = "numbered", padding: Int = 0) {
        let position = log.lastPosition + 1
        let data = Array("{\"n\":\(position)\(String(repeating: " ", count: padding))}".utf8)
        let event = EncodedEvent(position: position, id: "1.\(position)", name: name, data: data)
        saved.append(event)
        data.withUnsafeBytes {
            log.append(idPrefix: "1.", position: position, name: name, data: $0)
        }
    }

    /// Publishes progress of a key.
    func progress(_ value: Int, key: Int64 = 1, padding: Int = 0) {
        let data = Array("{\"v\":\(value)\(String(repeating: " ", count: padding))}".utf8)
        data.withUnsafeBytes {
            log.append(position: nil, name: "progress", data: $0, progressKey: key)
        }
    }

    /// Publishes 1 KiB for each of `numbers`, a few in each turn of the loop.
    func publishMany(
        _ numbers: ClosedRange<Int>, _ publishOne: @LoopActor (EventFeed, Int) -> Void
    ) async {
        for number in numbers {
            publishOne(self, number)
            if number.isMultiple(of: 20) { await nextTurn() }
        }
    }

    private func nextTurn() async {
        await withCheckedContinuation { continuation in
            let timer = LoopTimer { continuation.resume() }
            timer.arm(after: .zero)
            turn = timer
        }
    }

    func page(
        after position: Int64, through: Int64?, limit: Int
    ) async throws -> [EncodedEvent] {
        pages += 1
        // As a store does: the answer comes in a later turn.
        await withCheckedContinuation { continuation in LoopActor.post { continuation.resume() } }
        if isBroken { throw Lost() }
        return Array(
            saved.lazy.filter { $0.position > position && $0.position <= through ?? .max }
                .prefix(limit))
    }

    /// Streams from `after`, or live, with or without the history.
    nonisolated var routes: [Route] {
        [
            Route("GET", "/after/{position}") { [self] request in
                stream(after: request.parameters["position"].flatMap { Int64($0) } ?? 0, self)
            },
            Route("GET", "/live") { [self] _ in stream(after: log.lastPosition, self) },
            Route("GET", "/forgetful") { [self] _ in stream(after: log.lastPosition, nil) },
            Route("GET", "/opened") { [self] _ in
                var opening: [UInt8] = []
                EncodedEvent.format(id: "1.0", name: "reset", data: [0x7B, 0x7D], onto: &opening)
                return stream(after: log.lastPosition, self, opening)
            },
        ]
    }

    private func stream(
        after position: Int64, _ history: (any EventHistory)?, _ opening: [UInt8] = []
    ) -> Response {
        Response(
            status: 200, headers: ["Ferry-Last-Event-ID": "1.\(log.lastPosition)"],
            body: .events(
                EventSubscription(log: log, after: position, history: history, opening: opening)))
    }
}
