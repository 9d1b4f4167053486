public import JSON

/// How a gateway stands, as its operator reads it, and how far the caller's tenant uses its quotas.
///
/// The gateway as a whole is shown to administrators only; others have their quotas.
public struct GatewayStatus: Sendable {
    /// As the gateway has answered, with the answer of `GET /v1/usage` as the member `usage`, which
    /// is null where the tenant sends too many requests. To who is no administrator only that.
    public let json: JSONValue
    private let address: String
    private let isWhole: Bool

    /// Asks the gateway.
    ///
    /// - Throws: as `GatewayClient.json`.
    public init(from client: GatewayClient) throws(ClientError) {
        let gateway = try GatewayStatus.answer("/v1/gateway", from: client, unless: 403)
        // The gateway answers its administrator though the tenant's programs ask too often.
        let usage = try GatewayStatus.answer(
            "/v1/usage", from: client, unless: gateway == nil ? nil : 429)
        self.init(gateway, usage: usage, of: client.gateway.address.description)
    }

    /// What the gateway answers; nil where it refuses with this status.
    private static func answer(
        _ path: String, from client: GatewayClient, unless status: Int?
    ) throws(ClientError) -> JSONValue? {
        do throws(ClientError) {
            return try client.json("GET", path)
        } catch .refused(let problem) where problem.status == status {
            return nil
        }
    }

    /// Answers of the gateway at `address`.
    init(_ gateway: JSONValue?, usage: JSONValue?, of address: String) {
        let usage = JSONValue.Member(name: "usage", value: usage ?? .null)
        json = .object((gateway?.object ?? []) + [usage])
        isWhole = gateway != nil
        self.address = address
    }

    /// A name and a value in each line; fit for a terminal.
    public var lines: [String] {
        var rows = [("gateway", address)]
        if isWhole { rows += ofGateway }
        rows += ofQuotas
        if !isWhole { rows.append(("all else", "takes a token with the scope admin")) }
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            DisplayText.padded(name, to: width) + "  " + DisplayText.line(value)
        }
    }

    private var ofGateway: [(String, String)] {
        var rows = [
            ("version", "\(text("version")) (\(text("commit")))"),
            ("running since", "\(Figures.instant(text("startedAt"))), \(uptime)"),
            ("certificate", certificate), ("store", store), ("disk", disk), ("limit", limit),
            ("sessions", counts("sessions") ?? "none"), ("tasks", counts("tasks") ?? "none"),
            ("attempts", counts("attempts") ?? "none"),
            ("waiting", counts("waiting", named: GatewayStatus.reason) ?? "nothing"),
            ("decisions", decisions),
        ]
        if let webhooks = counts("webhooks") { rows.append(("webhooks", webhooks)) }
        return rows
    }

    /// Those that the tenant has; to an administrator without any, whose tenant usually has none,
    /// nothing is said.
    private var ofQuotas: [(String, String)] {
        guard let usage = json["usage"], usage != .null else {
            return [("quotas", "unknown: the tenant sends too many requests")]
        }
        let lines = QuotaTable.lines(usage)
        if lines.isEmpty { return isWhole ? [] : [("quotas", "none")] }
        return zip(["quotas"] + Array(repeating: "", count: lines.count - 1), lines).map { $0 }
    }

    private var certificate: String {
        guard let certificate = json["certificate"], let end = certificate["notAfter"]?.string
        else { return "none, HTTP in clear" }
        let names = (certificate["names"]?.array ?? []).compactMap(\.string)
        return "until \(Figures.instant(end)), for \(names.joined(separator: ", "))"
    }

    private var uptime: String {
        Figures.time(json["uptime"]?.int64.map { .seconds($0) })
    }

    private var store: String {
        let store = json["store"]
        let bytes = store?["databaseBytes"]?.int64 ?? 0
        let log = Figures.size(store?["logBytes"]?.int64 ?? 0)
        // Of one on a server the gateway knows no size.
        let place =
            bytes == 0 ? "a database on a server" : "\(Figures.size(bytes)), and \(log) of log"
        let words =
            switch store?["state"]?.string {
            case "ok": ""
            case "diskFull": "; the disk is full, new work is refused"
            case "stalled": "; the disk is full, nothing can be noted"
            case "away": "; the database cannot be reached, nothing can be noted"
            case let other: "; \(other ?? "unknown")"
            }
        return place + words
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
        case "room": "for room"
        case "bodyStream": "for their body"
        case "retry": "to be tried again"
        default: "for \(name)"
        }
    }
}
