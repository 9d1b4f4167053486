internal import Semantics

/// Restricts reads to what belongs to some tenants, or to nothing.
struct TenantFilter {
    /// Nil for all.
    let tenants: Set<TenantID>?

    /// Everything.
    static let all = TenantFilter(tenants: nil)

    /// SQL for whether a row counts, by the column that has its tenant; the first parameter is used
    /// for it.
    func by(_ column: String = "tenant") -> String {
        tenants == nil ? "true" : "\(column) = ANY($1)"
    }

    /// The same where an index has rows by their session, in a column of this name.
    func bySession(_ column: String = "session") -> String {
        guard tenants != nil else { return "true" }
        return "\(column) = ANY(ARRAY(SELECT id FROM session WHERE tenant = ANY($1)))"
    }

    /// What the statement needs for it.
    var parameters: [Parameter] { tenants.map { [.numbers($0.map(\.rawValue))] } ?? [] }
}
