package import Engine
package import Semantics

extension DeliveryPage {
    /// A page of rows, of which some cannot be read.
    ///
    /// - Parameters:
    ///   - found: what could be read.
    ///   - positions: of all rows, the newest first, and of one beyond `limit` where there are
    ///     others.
    ///   - limit: how many rows the page has at most.
    package init(_ found: [DeliveryRecord], from positions: [Int64], limit: Int) {
        let last = positions.count > limit ? positions.prefix(limit).last : nil
        self.init(
            found.filter { delivery in last.map { delivery.position >= $0 } ?? true }, next: last)
    }
}

extension DecisionPage {
    /// A page of rows, of which some cannot be read.
    ///
    /// - Parameters:
    ///   - found: what could be read, in any order.
    ///   - ids: of all rows, in any order, more than `limit` where there are others.
    ///   - limit: how many rows the page has at most.
    package init(_ found: [DecisionRecord], from ids: [DecisionID], limit: Int) {
        let last = ids.count > limit ? ids.sorted().prefix(limit).last : nil
        let page = found.filter { decision in last.map { decision.id <= $0 } ?? true }
        self.init(page.sorted { $0.id < $1.id }, next: last)
    }
}
