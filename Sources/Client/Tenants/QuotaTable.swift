internal import JSON

/// How far the quotas of a tenant are used, as lines for people.
enum QuotaTable {
    /// A line for each quota that is set, of what `GET /v1/usage` has answered; fit for a terminal.
    ///
    /// What is used is in words behind the figures from nine tenths on.
    static func lines(_ usage: JSONValue) -> [String] {
        let rows = (usage["quotas"]?.object ?? []).compactMap { quota in
            figures(quota.name, quota.value).map { (DisplayText.line(quota.name), $0) }
        }
        let width = rows.map { DisplayText.columns(of: $0.0) }.max() ?? 0
        return rows.map { name, figures in
            DisplayText.padded(name, to: width) + "  " + figures
        }
    }

    /// `9 of 10, 90 % used`; nil where there is no limit.
    private static func figures(_ name: String, _ quota: JSONValue) -> String? {
        guard let used = quota["used"]?.int64, let limit = quota["limit"]?.int64 else { return nil }
        let shown = amounts(name, [used, limit]).joined(separator: " of ")
        return shown + remark(used, of: limit)
    }

    private static func amounts(_ name: String, _ amounts: [Int64]) -> [String] {
        switch name {
        case "storedBytes", "stagedBytes": amounts.map { Figures.size($0) }
        case "bytesPerSecond": amounts.map { Figures.rate(Double($0)) }
        default: amounts.map { String($0) }
        }
    }

    private static func remark(_ used: Int64, of limit: Int64) -> String {
        if used > limit { return ", over the limit" }
        if used == limit { return ", at the limit" }
        // Limits are 10^15 at most, so that a hundred times as many are still a number.
        return used >= limit - limit / 10 ? ", \(used * 100 / limit) % used" : ""
    }
}
