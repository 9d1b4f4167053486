/// One event of an event stream (WHATWG HTML §9.2).
public struct ServerSentEvent: Equatable, Sendable {
    /// The last event id of the stream when it was dispatched; empty before the first.
    public let id: String
    /// The event's type; `message` where the stream names none.
    public let name: String
    /// The data, its lines joined by line feeds.
    public let data: String
    /// Whether it brought the id itself: a numbered event, which a replay has, too. Of the others
    /// the id is that of an earlier one.
    public let isNumbered: Bool

    /// An event of these parts.
    public init(id: String, name: String, data: String, isNumbered: Bool = false) {
        self.isNumbered = isNumbered
        self.id = id
        self.name = name
        self.data = data
    }
}
