internal import JSON

/// What happens to a transfer, line by line, for `--verbose`: `>` is what is asked, `<` what is
/// answered, `*` all else.
public enum TransferTrace {
    /// The request of an order.
    public static func lines(_ order: DownloadOrder) -> [String] {
        lines(order.method, order.url, order.headers)
    }

    /// The request of an order.
    public static func lines(_ order: UploadOrder) -> [String] {
        lines(order.method, order.url, order.headers)
    }

    private static func lines(_ method: String, _ url: String, _ fields: RequestFields) -> [String]
    {
        ["> \(method) \(url)"]
            + fields.lines.map { line in
                "> \(line.name): \(CommandText.isSecret(line.name) ? "…" : line.value)"
            }
    }

    /// An event of the task.
    public static func lines(_ event: ServerSentEvent) -> [String] {
        let limits = GatewayClient.limits
        let data = try? JSONValue(parsing: Array(event.data.utf8), limits: limits)
        var lines = ["* " + EventLine.text(event)]
        if let response = data?["response"] { lines += head(response).map { "< " + $0 } }
        if let metrics = data?["metrics"] {
            lines += TransferFigures.lines(metrics).map { "* " + $0 }
        }
        return lines
    }

    /// The head of a response: its status line and its fields.
    static func head(_ response: JSONValue) -> [String] {
        let version = response["httpVersion"]?.string.map { "HTTP/\($0) " } ?? ""
        let status = response["status"]?.int64.map { String($0) } ?? ""
        return [version + status]
            + (response["headers"]?.array ?? []).compactMap { pair in
                guard let name = pair[0]?.string, let value = pair[1]?.string else { return nil }
                return "\(name): \(value)"
            }
    }
}

/// What a transfer took, in words.
enum TransferFigures {
    /// A line for each request that went out: `GET http://h/a: 200 by http/1.1 from 10.0.0.1:80,
    /// name 2 ms, connect 10 ms, TLS 20 ms, first byte 31 ms, body 100 ms`.
    static func lines(_ metrics: JSONValue) -> [String] {
        (metrics["transactions"]?.array ?? []).map { transaction in
            var text = transaction["method"]?.string ?? ""
            text += " " + (transaction["url"]?.string ?? "")
            var parts: [String] = []
            if let status = transaction["status"]?.int64 { parts.append("\(status)") }
            if let name = transaction["networkProtocolName"]?.string { parts.append("by \(name)") }
            if let address = transaction["remoteAddress"]?.string {
                let port = transaction["remotePort"]?.int64.map { ":\($0)" } ?? ""
                parts.append("from " + (address.contains(":") ? "[\(address)]" : address) + port)
            }
            if transaction["resourceFetchType"]?.string == "localCache" {
                parts.append("from the cache")
            }
            if transaction["isReusedConnection"]?.bool == true {
                parts.append("on a connection that was open")
            }
            let head = parts.isEmpty ? text : text + ": " + parts.joined(separator: " ")
            return ([head] + steps(transaction)).joined(separator: ", ")
        }
    }

    private static let steps: [(name: String, from: String, to: String)] = [
        ("name", "domainLookupStartDate", "domainLookupEndDate"),
        ("connect", "connectStartDate", "secureConnectionStartDate"),
        ("connect", "connectStartDate", "connectEndDate"),
        ("TLS", "secureConnectionStartDate", "secureConnectionEndDate"),
        ("first byte", "requestStartDate", "responseStartDate"),
        ("body", "responseStartDate", "responseEndDate"),
    ]

    private static func steps(_ transaction: JSONValue) -> [String] {
        var told: Set<String> = []
        return steps.compactMap { step in
            guard !told.contains(step.name),
                let from = transaction[step.from]?.string.flatMap(RFC3339.milliseconds),
                let to = transaction[step.to]?.string.flatMap(RFC3339.milliseconds), to >= from
            else { return nil }
            told.insert(step.name)
            return "\(step.name) \(to - from) ms"
        }
    }
}
