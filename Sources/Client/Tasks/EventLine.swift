internal import JSON

/// An event as one line: for people, or as JSON for scripts.
public enum EventLine {
    /// `12:00:01.250  tsk_1  task.didReceiveResponse  200 a.iso`, without control characters; the
    /// task only if it `hasSubject`.
    public static func text(_ event: ServerSentEvent, hasSubject: Bool = true) -> String {
        let limits = GatewayClient.limits
        let data = try? JSONValue(parsing: Array(event.data.utf8), limits: limits)
        // RFC 3339: the time of day is behind the T.
        let at = data?["at"]?.string ?? ""
        let time = at.split(separator: "T").last.map { $0.prefix { $0 != "Z" } } ?? ""
        let subject = data?["task"]?.string ?? data?["session"]?.string ?? ""
        let parts = [String(time), hasSubject ? subject : "", event.name, detail(event.name, data)]
        return DisplayText.line(parts.filter { !$0.isEmpty }.joined(separator: "  "))
    }

    private static func detail(_ name: String, _ data: JSONValue?) -> String {
        guard let data else { return "" }
        if let decision = RemoteDecision(eventData: data) {
            return DecisionLine.sentence(decision)
        }
        if let failure = TransferFailure(data["error"]) { return failure.description }
        var progress = TaskProgress()
        _ = progress.apply(name, data)
        switch name {
        case "task.didReceiveResponse":
            guard let response = progress.response else { return "" }
            return [String(response.status), response.suggestedFilename ?? ""]
                .filter { !$0.isEmpty }.joined(separator: " ")
        case "download.didWriteData", "task.didReceiveData":
            guard progress.expected >= 0 else { return Figures.size(progress.received) }
            return "\(Figures.size(progress.received)) of \(Figures.size(progress.expected))"
        case "task.didSendBodyData":
            guard progress.expectedToSend >= 0 else { return Figures.size(progress.sent) }
            return "\(Figures.size(progress.sent)) of \(Figures.size(progress.expectedToSend))"
        case "download.didResumeAtOffset":
            return progress.resumedAt.map { "at \(Figures.size($0))" } ?? ""
        case "task.willRetry":
            return [
                data["attempt"]?.int64.map { "attempt \($0)" },
                data["delay"]?.double.map { "in \(Figures.time(.seconds($0)))" },
                data["reason"]?.string.map(TaskWait.words),
            ].compactMap { $0 }.joined(separator: " ")
        case "task.didChange":
            return (data["changes"]?.object ?? []).map { "\($0.name) \(text(of: $0.value))" }
                .joined(separator: ", ")
        case "task.willPerformHTTPRedirection": return data["request"]?["url"]?.string ?? ""
        case "reset": return data["reason"]?.string ?? ""
        default: return ""
        }
    }

    private static func text(of value: JSONValue) -> String {
        if value.isNull { return "none" }
        if let text = value.string { return text }
        var json = JSONWriter()
        json.value(value)
        return String(decoding: json.finish(), as: UTF8.self)
    }

    /// Whether it tells how far a transfer is, four times a second, and not that something
    /// happened: the data of an `inline` session is numbered (rule S-58).
    public static func isProgress(_ event: ServerSentEvent) -> Bool {
        !event.isNumbered && tellsOfBytes(event)
    }

    /// Whether it tells of bytes that have moved, of which many such events follow.
    static func tellsOfBytes(_ event: ServerSentEvent) -> Bool {
        ["download.didWriteData", "task.didReceiveData", "task.didSendBodyData"].contains(
            event.name)
    }

    /// Whether it is the last event of its task (rules S-57 and S-70).
    static func isTerminal(_ event: ServerSentEvent) -> Bool {
        event.name == "task.didComplete" || event.name == "task.didBecomeDownloadTask"
    }

    /// `{"id":"1.7","event":"task.didComplete","data":{…}}` on one line. The data is the gateway's
    /// own JSON; as a string where it is none.
    public static func json(_ event: ServerSentEvent) -> String {
        let bytes = Array(event.data.utf8)
        let isJSON = (try? JSONValue(parsing: bytes, limits: GatewayClient.limits)) != nil
        var json = JSONWriter()
        json.object { json in
            json.member("id", event.id)
            json.member("event", event.name)
            if isJSON { json.member("data", raw: bytes) } else { json.member("data", event.data) }
        }
        return String(decoding: json.finish(), as: UTF8.self)
    }
}
