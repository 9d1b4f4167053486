internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// The logs that readers of event streams follow, one for each stream that has readers.
@LoopActor
final class EventStreams {
    private let gateway: Gateway
    private var channels: [EventStreamKey: EventChannel] = [:]

    init(gateway: Gateway) { self.gateway = gateway }

    /// How readers get on.
    var figures: MetricsPage.EventFigures {
        var figures = MetricsPage.EventFigures()
        for channel in channels.values {
            let lag = channel.log.lag
            figures.readers += channel.log.readerCount
            figures.behind += lag.readers
            figures.greatestLag = max(figures.greatestLag, lag.events)
        }
        return figures
    }

    /// The stream's log: what is published from now on is in it.
    func log(of stream: EventStreamKey) -> EventLog {
        if let channel = channels[stream] { return channel.log }
        let channel = EventChannel(stream, gateway)
        channels[stream] = channel
        gateway.hub.setListener(channel, for: stream)
        let drop: @LoopActor () -> Void = { [weak self, weak channel] in
            guard let self, let channel, channels[stream] === channel else { return }
            channels[stream] = nil
            gateway.hub.setListener(nil, for: stream)
        }
        channel.log.onLastReaderGone = drop
        channel.onEnd = drop
        return channel.log
    }

    /// Where older events of the stream come from; the permit is held by it, and so by its reader.
    func history(
        of stream: EventStreamKey, of tenant: TenantID, _ permit: StreamPermit
    ) -> any EventHistory {
        ReplayedEvents(stream, tenant, gateway, permit)
    }
}

/// Writes what a stream tells into its log, once for all readers.
@LoopActor
private final class EventChannel: EventListener {
    let log: EventLog
    var onEnd: (@LoopActor () -> Void)?
    private let stream: EventStreamKey
    /// Made once for all events.
    private let identifierPrefix: String
    private let gateway: Gateway
    /// The session of the newest event, and whether it is shown as `shared` (S-4): mostly many
    /// events of one session follow each other.
    private var newestSession: (id: SessionID?, isShared: Bool) = (nil, false)
    /// What all channels write with, one event after the other.
    private static var json = JSONWriter(capacity: 4096)

    init(_ stream: EventStreamKey, _ gateway: Gateway) {
        self.stream = stream
        identifierPrefix = stream.identifierPrefix
        self.gateway = gateway
        log = EventLog(startingAfter: gateway.hub.newestPosition(of: stream))
    }

    func hear(_ event: Event) {
        if event.session != newestSession.id {
            newestSession = (event.session, gateway.sessions.isShared(event.session))
        }
        event.write(to: &EventChannel.json, sharedSession: newestSession.isShared)
        EventChannel.json.lend { data in
            if event.body.isProgress {
                log.append(
                    position: nil, name: event.body.name, data: data,
                    progressKey: EventChannel.progressKey(of: event))
            } else {
                log.append(
                    idPrefix: identifierPrefix, position: stream.position(of: event),
                    name: event.body.name, data: data)
            }
        }
        if stream.ends(with: event) {
            log.finish()
            onEnd?()
        }
    }

    /// S-59: newer progress of the same task and direction takes the place of older.
    private static func progressKey(of event: Event) -> Int64 {
        let isUpwards = if case .didSendBodyData = event.body { true } else { false }
        return (event.task?.rawValue ?? 0) << 1 | (isUpwards ? 1 : 0)
    }
}

/// What a stream told before.
@LoopActor
private final class ReplayedEvents: EventHistory {
    /// Data that a page may have, so that a reader stays within its share of memory.
    private static let byteLimit = 96 << 10

    private let stream: EventStreamKey
    private let tenant: TenantID
    private let gateway: Gateway
    private let permit: StreamPermit

    init(
        _ stream: EventStreamKey, _ tenant: TenantID, _ gateway: Gateway, _ permit: StreamPermit
    ) {
        self.stream = stream
        self.tenant = tenant
        self.gateway = gateway
        self.permit = permit
    }

    func page(
        after position: Int64, through: Int64?, limit: Int
    ) async throws -> [EncodedEvent] {
        var page: [EncodedEvent] = []
        var byteCount = 0
        let events = try await gateway.events.page(
            of: stream, after: position, limit: min(limit, 128))
        for event in events {
            let position = stream.position(of: event)
            guard position <= through ?? .max, byteCount < ReplayedEvents.byteLimit else { break }
            let data = event.data(
                sharedSession: gateway.sessions.isShared(event.session),
                bytes: await bytes(of: event))
            byteCount += data.count
            page.append(
                EncodedEvent(
                    position: position, id: stream.identifier(of: position),
                    name: event.body.name, data: data))
        }
        return page
    }

    private func bytes(of event: Event) async -> [UInt8]? {
        guard case .didReceiveData(let offset, let length, true, nil) = event.body,
            let task = event.task
        else { return nil }
        return await gateway.contents.bytes(of: task, of: tenant, from: offset, count: length)
    }
}

extension EventStreamKey {
    /// Whether nothing follows the event in this stream.
    fileprivate func ends(with event: Event) -> Bool {
        switch self {
        case .tenant: false
        case .session: event.task == nil && event.body.isTerminal
        case .task: event.body.isTerminal
        }
    }
}
