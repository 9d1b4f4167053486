/// A tenant: whose sessions, tasks and files are apart from all others'.
public struct TenantRecord: Equatable, Sendable {
    /// Part of every key; never shown, and never given again.
    public let id: TenantID
    /// What the operator calls it, see `TenantName`. No other tenant has it.
    public let name: String
    /// The operator's own words, at most 1,024 bytes of UTF-8; nil for none.
    public var description: String?
    /// How much of the gateway it may use.
    public var quotas: TenantQuotas
    /// Where its transfers may go, of what the gateway's own policy lets through.
    public var egress: EgressNarrowing
    /// How long its completed tasks are kept, where that is shorter than the gateway keeps any; nil
    /// for as long as that.
    public var taskRetention: Duration?
    /// When it was made, by the wall clock; nil for the operator's own, which was always there.
    public let createdAt: Timestamp?
    /// Whether it is being deleted: nobody may call for it, and what it has goes.
    public var isEnding = false

    /// A tenant from its parts.
    public init(
        id: TenantID, name: String, description: String? = nil,
        quotas: TenantQuotas = .defaults, egress: EgressNarrowing = EgressNarrowing(),
        taskRetention: Duration? = nil, createdAt: Timestamp?
    ) {
        self.id = id
        self.name = name
        self.description = description
        self.quotas = quotas
        self.egress = egress
        self.taskRetention = taskRetention
        self.createdAt = createdAt
    }

    /// The operator's own tenant as it is until somebody changes it: the machine's owner has no
    /// quotas.
    public static let ofOperator = TenantRecord(
        id: .operatorTenant, name: TenantName.ofOperator, quotas: TenantQuotas([:]), createdAt: nil)
}

/// What is known of a tenant whose record cannot be read. Nobody may call for it, and what it has
/// stays until somebody deletes it.
public struct DamagedTenant: Equatable, Sendable {
    /// Part of every key, as of a whole one.
    public let id: TenantID
    /// Nil where not even that can be read: no other tenant has it.
    public let name: String?
    /// Whether it is being deleted.
    public let isEnding: Bool

    /// A tenant from what can be read of it.
    public init(id: TenantID, name: String?, isEnding: Bool) {
        self.id = id
        self.name = name
        self.isEnding = isEnding
    }
}

/// Which names tenants may have: they stand in paths, tables and logs as they are.
public enum TenantName {
    /// The operator's own.
    public static let ofOperator = "default"

    /// Whether a text is 1 to 63 lower-case letters, digits, `-`, `_` and `.`, the first of them a
    /// letter or digit.
    public static func isValid(_ text: String) -> Bool {
        guard (1...63).contains(text.utf8.count), let first = text.utf8.first else { return false }
        return isLetterOrDigit(first)
            && text.utf8.allSatisfy {
                isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: ".")
            }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
