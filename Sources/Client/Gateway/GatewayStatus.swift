public import JSON

/// How a gateway stands, as its operator reads it.
public struct GatewayStatus: Sendable {
    /// As the gateway has answered.
    public let json: JSONValue
    private let address: String

    /// Asks the gateway.
    ///
    /// - Throws: as `GatewayClient.json`.
    public init(from client: GatewayClient) throws(ClientError) {
        json = try client.json("GET", "/v1/gateway")
        address = client.gateway.address.description
    }

    /// An answer of the gateway at `address`.
    init(_ json: JSONValue, of address: String) {
        self.json = json
        self.address = address
    }

    /// A name and a value in each line; fit for a terminal.
    public var lines: [String] {
        var rows = [
            ("gateway", address),
            ("version", "\(text("version")) (\(text("commit")))"),
            ("running since", "\(Figures.instant(text("startedAt"))), \(uptime)"),
            ("store", store), ("disk", disk), ("limit", limit),
            ("sessions", counts("sessions") ?? "none"), ("tasks", counts("tasks") ?? "none"),
            ("attempts", counts("attempts") ?? "none"),
            ("waiting", counts("waiting", named: GatewayStatus.reason) ?? "nothing"),
            ("decisions", decisions),
        ]
        if let webhooks = counts("webhooks") { rows.append(("webhooks", webhooks)) }
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            DisplayText.padded(name, to: width) + "  " + DisplayText.line(value)
        }
    }

    private var uptime: String {
        Figures.time(json["uptime"]?.int64.map { .seconds($0) })
    }

    private var store: String {
        let store = json["store"]
        let size = Figures.size(store?["databaseBytes"]?.int64 ?? 0)
        let log = Figures.size(store?["logBytes"]?.int64 ?? 0)
        let words =
            switch store?["state"]?.string {
            case "ok": ""
            case "diskFull": "; the disk is full, new work is refused"
            case "stalled": "; the disk is full, nothing can be noted"
            case let other: "; \(other ?? "unknown")"
            }
        return "\(size), and \(log) of log\(words)"
    }

    private var disk: String {
        guard let disk = json["disk"], let free = disk["free"]?.int64,
            let total = disk["total"]?.int64
        else { return "unknown" }
        let reserve = Figures.size(disk["reserve"]?.int64 ?? 0)
        return "\(Figures.size(free)) free of \(Figures.size(total)), \(reserve) in reserve"
    }

    private var limit: String {
        json["maximumBytesPerSecond"]?.int64.map { Figures.rate(Double($0)) } ?? "none"
    }

    private var decisions: String {
        let count = json["decisions"]?["pending"]?.int64 ?? 0
        return count == 0 ? "none wait" : "\(count) wait: see `ferry decisions`"
    }

    /// What there is of each kind, but for kinds of which there is nothing; nil where that is all.
    private func counts(
        _ name: String, named shown: (String) -> String = { $0 }
    ) -> String? {
        let counts = (json[name]?.object ?? []).compactMap { member -> String? in
            guard let count = member.value.int64, count > 0 else { return nil }
            return "\(count) \(shown(member.name))"
        }
        return counts.isEmpty ? nil : counts.joined(separator: ", ")
    }

    private func text(_ name: String) -> String { json[name]?.string ?? "unknown" }

    /// What tasks wait for, in words.
    private static func reason(_ name: String) -> String {
        switch name {
        case "decision": "for a decision"
        case "connectivity": "for the network"
        case "beginDate": "for their begin date"
        case "slot": "for a free connection"
        case "quietTime": "for a quiet time"
        case "bodyStream": "for their body"
        case "retry": "to be tried again"
        default: "for \(name)"
        }
    }
}
