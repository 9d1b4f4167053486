package import Engine
package import Semantics

extension WebhookRecord {
    /// The webhook in a row of these columns: id, tenant, session, state, cursor, createdAt,
    /// properties, secret.
    package init(row: some StoredRow, sealer: any Sealer) throws(StoreError) {
        let id = WebhookID(rawValue: row.int64(0))
        let tenant = TenantID(rawValue: row.int64(1))
        let properties = try WebhookProperties(
            clear: row.bytes(6),
            secret: try sealer.openIfPresent(row.bytes(7), for: .webhook(id, tenant: tenant)) ?? [])
        guard let url = properties.url, let secret = properties.secret,
            let state = WebhookState(rawValue: try row.string(3))
        else { throw .damagedRecord }
        self.init(
            id: id, tenant: tenant, session: row.int64OrNil(2).map(SessionID.init), url: url,
            events: properties.events, description: properties.description,
            createdAt: Timestamp(milliseconds: row.int64(5)), secret: secret,
            cursor: row.int64(4))
        self.state = state
        formerSecret = properties.formerSecret
        disabledReason = properties.disabledReason
        failingSince = properties.failingSince
    }
}

extension DeliveryRecord {
    /// What has become of an event, in a row of these columns: position, state, delivery.
    package init(row: some StoredRow, of webhook: WebhookID) throws(StoreError) {
        try self.init(
            RecordReader(row.bytes(2)), webhook: webhook, position: row.int64(0),
            state: try DeliveryState(stored: row.int64(1)))
    }
}

extension DeliveryState {
    /// As a row has it.
    package var stored: Int64 {
        switch self {
        case .pending: 0
        case .delivered: 1
        case .failed: 2
        }
    }

    /// The state with this number.
    package init(stored number: Int64) throws(StoreError) {
        guard let state = DeliveryState.allCases.first(where: { $0.stored == number }) else {
            throw .damagedRecord
        }
        self = state
    }
}
