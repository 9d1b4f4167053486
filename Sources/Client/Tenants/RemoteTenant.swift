public import JSON

/// A tenant as the gateway shows it; of its members those that commands show to people.
public struct RemoteTenant: Equatable, Sendable {
    /// Names it.
    public let name: String
    /// `active` or `deleting`.
    public let state: String
    /// What its operator calls it; nil for nothing.
    public let description: String?
    /// The quotas that it has, in the gateway's order.
    public let quotas: [(name: String, limit: Int64)]
    /// Where its transfers may go, in words; empty for wherever the gateway's may.
    public let egress: [String]
    /// How many seconds its completed tasks are kept; nil for as long as others'.
    public let taskRetention: Int64?

    /// A tenant from the gateway's JSON.
    ///
    /// - Throws: `unexpectedAnswer` without a name.
    public init(_ json: JSONValue) throws(ClientError) {
        guard let name = json["name"]?.string else {
            throw .unexpectedAnswer("a tenant without a name")
        }
        self.name = name
        state = json["state"]?.string ?? ""
        description = json["description"]?.string
        quotas = RemoteTenant.quotaNames.compactMap { name in
            json["quotas"]?[name]?.int64.map { (name, $0) }
        }
        egress = RemoteTenant.rules.compactMap { member, words in
            guard let places = json["egress"]?[member]?.array?.compactMap(\.string) else {
                return nil
            }
            if places.isEmpty { return member.hasPrefix("allowed") ? "\(words) none" : nil }
            return "\(words) \(places.joined(separator: ", "))"
        }
        taskRetention = json["taskRetention"]?.int64
    }

    /// Whether both say the same.
    public static func == (left: RemoteTenant, right: RemoteTenant) -> Bool {
        left.name == right.name && left.state == right.state
            && left.description == right.description && left.egress == right.egress
            && left.taskRetention == right.taskRetention
            && left.quotas.elementsEqual(right.quotas) { $0 == $1 }
    }

    /// The quotas that a tenant can have, as the gateway calls them.
    public static let quotaNames = [
        "sessions", "outstandingTasks", "runningAttempts", "storedBytes", "stagedBytes",
        "eventStreams", "webhooks", "requestsPerSecond", "bytesPerSecond",
    ]

    private static let rules: [(member: String, words: String)] = [
        ("allowedHosts", "hosts:"), ("deniedHosts", "not hosts:"),
        ("allowedAddresses", "addresses:"), ("deniedAddresses", "not addresses:"),
    ]

    /// `/v1/tenants/{name}`; the name may be what a user typed.
    static func path(_ name: String) -> String { "/v1/tenants/\(PathText.escaped(name))" }
}

/// What a tenant is to be made with, or what of one is to change; nil leaves it.
public struct TenantOrder: Equatable, Sendable {
    /// What its operator calls it; empty for nothing.
    public var description: String?
    /// Quotas by name; nil for none.
    public var quotas: [(name: String, limit: Int64?)] = []
    /// Hosts that may be asked; empty where nothing is said, `any` alone for all.
    public var allowedHosts: [String] = []
    /// Hosts that may not; `none` alone for none.
    public var deniedHosts: [String] = []
    /// Addresses that may be connected to; `any` alone for all.
    public var allowedAddresses: [String] = []
    /// Addresses that may not; `none` alone for none.
    public var deniedAddresses: [String] = []
    /// Seconds; `.some(nil)` for as long as others' are kept.
    public var taskRetention: Int64??

    /// An order that says nothing.
    public init() {}

    /// Whether both say the same.
    public static func == (left: TenantOrder, right: TenantOrder) -> Bool {
        left.json(named: nil, changing: nil) == right.json(named: nil, changing: nil)
    }

    /// Reads `sessions=10`, `storedBytes=1g` (1024³), `webhooks=none`.
    ///
    /// - Throws: `badArgument`.
    public mutating func addQuota(_ text: String) throws(ClientError) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, RemoteTenant.quotaNames.contains(parts[0]) else {
            throw .badArgument(
                """
                --quota \(text): say NAME=NUMBER or NAME=none, the name being one of \
                \(RemoteTenant.quotaNames.joined(separator: ", "))
                """)
        }
        guard !quotas.contains(where: { $0.name == parts[0] }) else {
            throw .badArgument("--quota \(text): \(parts[0]) is given twice")
        }
        if parts[1] == "none" { return quotas.append((parts[0], nil)) }
        guard let number = TenantOrder.number(parts[1]) else {
            throw .badArgument("--quota \(text): \(parts[1]) is no number, and not none")
        }
        quotas.append((parts[0], number))
    }

    /// Takes the hosts and addresses that were given, in the order of the options' names.
    ///
    /// - Throws: `badArgument` where `any` or `none` stands beside others.
    public mutating func setRules(
        onlyHosts: [String], deniedHosts: [String], onlyAddresses: [String],
        deniedAddresses: [String]
    ) throws(ClientError) {
        allowedHosts = try TenantOrder.places(onlyHosts, "--only-host", all: "any")
        self.deniedHosts = try TenantOrder.places(deniedHosts, "--deny-host", all: "none")
        allowedAddresses = try TenantOrder.places(onlyAddresses, "--only-address", all: "any")
        self.deniedAddresses = try TenantOrder.places(
            deniedAddresses, "--deny-address", all: "none")
    }

    /// The places of one option; what stands for an open rule stands alone.
    private static func places(
        _ given: [String], _ option: String, all word: String
    ) throws(ClientError) -> [String] {
        if given.count > 1, given.contains(word) {
            throw .badArgument("\(option) \(word): it stands alone, without another \(option)")
        }
        return given
    }

    /// A whole number, with `k`, `m`, `g` or `t` for 1024, 1024² and so on.
    private static func number(_ text: String) -> Int64? {
        var digits = text.lowercased()
        var factor: Int64 = 1
        if let last = digits.last, let exponent = Array("kmgt").firstIndex(of: last) {
            digits.removeLast()
            factor = 1 << (10 * (Int64(exponent) + 1))
        }
        guard let number = Int64(digits), number >= 0 else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }

    /// Whether something is said of where transfers may go.
    var narrows: Bool {
        !(allowedHosts.isEmpty && deniedHosts.isEmpty && allowedAddresses.isEmpty
            && deniedAddresses.isEmpty)
    }

    /// The body of a request; `current` is what the tenant has, whose other rules stay.
    func json(named name: String?, changing current: JSONValue?) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            if let name { json.member("name", name) }
            if let description {
                json.member("description", description.isEmpty ? nil : description)
            }
            if !quotas.isEmpty {
                json.object("quotas") { json in
                    for (name, limit) in quotas { json.member(named: name, limit) }
                }
            }
            if narrows { json.object("egress") { writeRules(to: &$0, current?["egress"]) } }
            if let taskRetention { json.member("taskRetention", taskRetention) }
        }
        return json.finish()
    }

    private func writeRules(to json: inout JSONWriter, _ current: JSONValue?) {
        let rules: [(name: String, given: [String])] = [
            ("allowedHosts", allowedHosts), ("deniedHosts", deniedHosts),
            ("allowedAddresses", allowedAddresses), ("deniedAddresses", deniedAddresses),
        ]
        for (name, given) in rules {
            let isAllowing = name.hasPrefix("allowed")
            if given.isEmpty {
                if let kept = current?[name] { json.member(named: name, kept) }
            } else if given == ["any"], isAllowing {
                json.name(named: name)
                json.null()
            } else {
                json.name(named: name)
                json.array { json in
                    for place in given where !(given == ["none"] && place == "none") {
                        json.string(place)
                    }
                }
            }
        }
    }
}

/// Tenants as tables for people.
public enum TenantTable {
    /// The lines of the table, titles first. With a `width`, lines are cut to it.
    public static func lines(_ tenants: [RemoteTenant], width: Int? = nil) -> [String] {
        let rows = tenants.map { tenant in
            [
                tenant.name, tenant.state,
                tenant.quotas.isEmpty
                    ? "none"
                    : tenant.quotas.map { "\($0.name)=\($0.limit)" }.joined(separator: ","),
                tenant.egress.isEmpty ? "any" : "narrowed", tenant.description ?? "",
            ].map(DisplayText.line)
        }
        return TextTable.lines(
            ["TENANT", "STATE", "QUOTAS", "EGRESS", "DESCRIPTION"], rows, width: width)
    }

    /// One tenant, a line for each thing that there is to say.
    public static func lines(of tenant: RemoteTenant) -> [String] {
        var rows = [("tenant", tenant.name), ("state", tenant.state)]
        if let description = tenant.description { rows.append(("description", description)) }
        for quota in RemoteTenant.quotaNames {
            let limit = tenant.quotas.first { $0.name == quota }?.limit
            rows.append((quota, limit.map { String($0) } ?? "none"))
        }
        rows.append(("results kept", tenant.taskRetention.map { "\($0) s" } ?? "as all"))
        rows += tenant.egress.map { ("egress", $0) }
        let width = (rows.map(\.0.count).max() ?? 0) + 2
        return rows.map { name, value in
            name + String(repeating: " ", count: width - name.count) + DisplayText.line(value)
        }
    }
}

extension GatewayClient {
    /// The tenants, all pages of the list, as the gateway shows them.
    ///
    /// - Throws: as `json`.
    public func tenants() throws(ClientError) -> [JSONValue] {
        try pages("/v1/tenants", "tenants")
    }

    /// A tenant as the gateway shows it.
    ///
    /// - Throws: as `json`.
    public func tenant(_ name: String) throws(ClientError) -> JSONValue {
        try json("GET", RemoteTenant.path(name))
    }

    /// Makes a tenant.
    ///
    /// - Throws: as `json`.
    public func createTenant(_ name: String, _ order: TenantOrder) throws(ClientError) -> JSONValue
    {
        try json("POST", "/v1/tenants", json: order.json(named: name, changing: nil))
    }

    /// Changes a tenant; the rules about its transfers that the order does not name stay.
    ///
    /// - Throws: as `json`.
    public func changeTenant(_ name: String, _ order: TenantOrder) throws(ClientError) -> JSONValue
    {
        let body = order.json(named: nil, changing: order.narrows ? try tenant(name) : nil)
        return try json("PATCH", RemoteTenant.path(name), json: body)
    }

    /// Begins to delete a tenant: it is there until nothing of it is left.
    ///
    /// - Throws: as `send`.
    public func deleteTenant(_ name: String) throws(ClientError) {
        try send("DELETE", RemoteTenant.path(name))
    }
}
