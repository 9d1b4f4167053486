public import JSON

/// A webhook as the gateway shows it; of its members those that commands show to people.
public struct RemoteWebhook: Equatable, Sendable {
    /// Names it: `whk_…`.
    public let id: String
    /// Where events are posted to.
    public let url: String
    /// Their names, or `*`.
    public let events: [String]
    /// The session that it is bound to; nil for all.
    public let session: String?
    /// `active`, `paused`, or `disabled` with the reason.
    public let state: String
    /// How many events are known to wait.
    public let waitingCount: Int64

    /// A webhook from the gateway's JSON.
    ///
    /// - Throws: `unexpectedAnswer` without an id.
    public init(_ json: JSONValue) throws(ClientError) {
        guard let id = json["id"]?.string else {
            throw .unexpectedAnswer("a webhook without an id")
        }
        self.id = id
        url = json["url"]?.string ?? ""
        events = (json["events"]?.array ?? []).compactMap(\.string)
        session = json["session"]?.string
        let state = json["state"]?.string ?? ""
        self.state = json["disabledReason"]?.string.map { "\(state): \($0)" } ?? state
        waitingCount = json["waitingCount"]?.int64 ?? 0
    }

    /// `/v1/webhooks/{id}` and what is below it; the id may be what a user typed.
    static func path(_ id: String, _ rest: String = "") -> String {
        "/v1/webhooks/\(PathText.escaped(id))\(rest)"
    }
}

/// What `ferry webhooks create` asks for.
public struct WebhookOrder: Equatable, Sendable {
    /// Where events are to be posted to.
    public var url: String
    /// Their names, or `*` alone.
    public var events: [String]
    /// The session that it is bound to; nil for all.
    public var session: String?
    /// What its owner calls it.
    public var description: String?

    /// A webhook of all sessions.
    public init(url: String, events: [String]) {
        self.url = url
        self.events = events
    }

    /// The body of `POST /v1/webhooks`.
    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("url", url)
            json.array("events") { json in
                for event in events { json.string(event) }
            }
            if let session { json.member("session", session) }
            if let description { json.member("description", description) }
        }
        return json.finish()
    }
}

/// Webhooks, and what has become of events, as tables for people.
public enum WebhookTable {
    /// The lines of the table of webhooks, titles first. With a `width`, lines are cut to it.
    public static func lines(_ webhooks: [RemoteWebhook], width: Int? = nil) -> [String] {
        let rows = webhooks.map { webhook in
            [
                webhook.id, webhook.state, webhook.session ?? "all", String(webhook.waitingCount),
                webhook.events.joined(separator: ","), webhook.url,
            ].map(DisplayText.line)
        }
        return TextTable.lines(
            ["WEBHOOK", "STATE", "SESSION", "WAITING", "EVENTS", "URL"], rows, figures: [3],
            width: width)
    }

    /// The lines of the table of deliveries as the gateway shows them, titles first.
    public static func lines(deliveries: [JSONValue], width: Int? = nil) -> [String] {
        let rows = deliveries.map { delivery in
            let last = delivery["attempts"]?.array?.last
            let answer =
                last?["status"]?.int64.map { String($0) } ?? last?["error"]?.string ?? ""
            return [
                delivery["event"]?.string ?? "", delivery["type"]?.string ?? "",
                delivery["task"]?.string ?? "", delivery["state"]?.string ?? "",
                String(delivery["attemptCount"]?.int64 ?? 0),
                Figures.instant(delivery["nextAttemptAt"]?.string ?? ""), answer,
            ].map(DisplayText.line)
        }
        return TextTable.lines(
            ["EVENT", "TYPE", "TASK", "STATE", "TRIES", "NEXT TRY", "LAST ANSWER"], rows,
            figures: [4], width: width)
    }
}

extension GatewayClient {
    /// The webhooks of the tenant, all pages of the list, as the gateway shows them.
    ///
    /// - Throws: as `json`.
    public func webhooks() throws(ClientError) -> [JSONValue] {
        try pages("/v1/webhooks", "webhooks")
    }

    /// Makes a webhook and gives it as the gateway shows it, with its secret.
    ///
    /// - Throws: as `json`.
    public func createWebhook(_ order: WebhookOrder) throws(ClientError) -> JSONValue {
        try create("/v1/webhooks", json: order.json)
    }

    /// Pauses a webhook, or makes it active again.
    ///
    /// - Throws: as `json`.
    public func changeWebhook(_ id: String, isPaused: Bool) throws(ClientError) -> JSONValue {
        let body = Array("{\"state\":\"\(isPaused ? "paused" : "active")\"}".utf8)
        return try persistently { () throws(ClientError) in
            try json("PATCH", RemoteWebhook.path(id), json: body)
        }
    }

    /// Ends a webhook; not interruptible, so that it can be done when something else was.
    ///
    /// - Throws: as `send`.
    public func deleteWebhook(_ id: String) throws(ClientError) {
        _ = try send("DELETE", RemoteWebhook.path(id), interruptible: false)
    }

    /// Gives a webhook a new secret, and gives it as the gateway shows it, with that.
    ///
    /// - Throws: as `json`.
    public func rotateWebhookSecret(_ id: String) throws(ClientError) -> JSONValue {
        try json("POST", RemoteWebhook.path(id, "/rotate-secret"))
    }

    /// Posts `webhook.test`, and tells what the receiver has answered.
    ///
    /// - Throws: as `json`.
    public func testWebhook(_ id: String) throws(ClientError) -> JSONValue {
        try json("POST", RemoteWebhook.path(id, "/test"))
    }

    /// What has become of a webhook's events, the newest first, at most `limit`.
    ///
    /// - Throws: as `json`.
    public func deliveries(
        of id: String, state: String? = nil, limit: Int
    ) throws(ClientError) -> [JSONValue] {
        let filter = state.map { "&state=" + PathText.escaped($0) } ?? ""
        let page = try json(
            "GET", RemoteWebhook.path(id, "/deliveries?limit=\(limit)\(filter)"))
        return page["deliveries"]?.array ?? []
    }

    /// Sends an event again, now.
    ///
    /// - Throws: as `send`.
    public func retryDelivery(_ event: String, of id: String) throws(ClientError) {
        try send(
            "POST", RemoteWebhook.path(id, "/deliveries/\(PathText.escaped(event))/retry"))
    }

    /// Sends every event behind one again.
    ///
    /// - Throws: as `send`.
    public func replayWebhook(_ id: String, after event: String) throws(ClientError) {
        var json = JSONWriter()
        json.object { $0.member("after", event) }
        try send("POST", RemoteWebhook.path(id, "/replay"), json: json.finish())
    }
}
