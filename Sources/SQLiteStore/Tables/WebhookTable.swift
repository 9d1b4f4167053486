internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// The rows of webhooks, and of what has become of their events.
struct WebhookTable {
    /// All webhooks.
    static let columns = """
        SELECT id, tenant, session, state, cursor, createdAt, properties, secret FROM webhook
        """

    let database: Database
    let sealer: any Sealer

    /// Writes what has changed. What belongs to a webhook that is not there is left out.
    func apply(_ batch: StoreBatch) throws {
        try save(batch.webhooks)
        try move(batch.webhookCursors)
        for (webhook, position) in batch.replayedWebhooks {
            try forgetDeliveries(of: webhook, after: position)
        }
        try save(batch.deliveries, at: batch.keptAt)
        for webhook in batch.removedWebhooks { try remove(webhook) }
    }

    // MARK: Webhooks

    private func save(_ webhooks: [WebhookRecord]) throws {
        guard !webhooks.isEmpty else { return }
        let statement = try PreparedStatement(
            database,
            """
            INSERT INTO webhook (id, tenant, session, state, cursor, createdAt, properties, secret)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (id) DO UPDATE SET state = excluded.state, cursor = excluded.cursor,
                properties = excluded.properties, secret = excluded.secret
            """)
        for webhook in webhooks {
            var parts = RecordParts()
            WebhookProperties.write(webhook, to: &parts)
            statement.bind(1, webhook.id.rawValue)
            statement.bind(2, webhook.tenant.rawValue)
            statement.bind(3, webhook.session?.rawValue)
            statement.bind(4, webhook.state.rawValue)
            statement.bind(5, webhook.cursor)
            statement.bind(6, webhook.createdAt.milliseconds)
            let secret = try sealer.seal(
                parts.secret.bytes, for: .webhook(webhook.id, tenant: webhook.tenant))
            try statement.run(7, parts.clear.bytes, 8, secret)
        }
    }

    private func move(_ cursors: [WebhookID: Int64]) throws {
        guard !cursors.isEmpty else { return }
        let statement = try PreparedStatement(
            database, "UPDATE webhook SET cursor = ?2 WHERE id = ?1")
        for (webhook, cursor) in cursors {
            statement.bind(1, webhook.rawValue)
            statement.bind(2, cursor)
            try statement.run()
        }
    }

    /// Forgets a webhook with its deliveries; its number is not given again.
    func remove(_ webhook: WebhookID) throws {
        try forgetDeliveries(of: webhook, after: .min)
        let delete = try PreparedStatement(database, "DELETE FROM webhook WHERE id = ?1")
        delete.bind(1, webhook.rawValue)
        try delete.run()
        try GatewayRow(database: database).note(webhook.rawValue)
    }

    /// Forgets the webhooks that are bound to a session.
    func removeAll(of session: SessionID) throws {
        let bound = try PreparedStatement(database, "SELECT id FROM webhook WHERE session = ?1")
        bound.bind(1, session.rawValue)
        for webhook in try bound.all({ WebhookID(rawValue: $0.int64(0)) }) { try remove(webhook) }
    }

    /// Every webhook that can be read, in the order of creation.
    func all() throws -> [WebhookRecord] {
        let sealer = sealer
        return try PreparedStatement(database, Self.columns + " ORDER BY id").allReadable(
            of: "webhook"
        ) { row throws(StoreError) in try WebhookRecord(row: row, sealer: sealer) }
    }

    // MARK: Deliveries

    private func save(_ deliveries: [DeliveryRecord], at instant: KeptTime) throws {
        guard !deliveries.isEmpty else { return }
        let statement = try PreparedStatement(
            database,
            """
            INSERT INTO delivery (webhook, position, state, keptAt, delivery)
            SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM webhook WHERE id = ?1)
            ON CONFLICT (webhook, position) DO UPDATE SET state = excluded.state,
                keptAt = excluded.keptAt, delivery = excluded.delivery
            """)
        statement.bind(4, instant.milliseconds)
        var writer = RecordWriter()
        for delivery in deliveries {
            writer.reset()
            delivery.write(to: &writer)
            statement.bind(1, delivery.webhook.rawValue)
            statement.bind(2, delivery.position)
            statement.bind(3, delivery.state.stored)
            try statement.run(5, writer.bytes)
        }
    }

    private func forgetDeliveries(of webhook: WebhookID, after position: Int64) throws {
        let delete = try PreparedStatement(
            database, "DELETE FROM delivery WHERE webhook = ?1 AND position > ?2")
        delete.bind(1, webhook.rawValue)
        delete.bind(2, position)
        try delete.run()
    }

    /// What has become of a webhook's events, the newest first. A row that is damaged is left out:
    /// the event is sent again.
    func deliveries(_ query: DeliveryQuery) throws -> DeliveryPage {
        let state = query.state.map { "AND state = \($0.stored)" } ?? ""
        let statement = try PreparedStatement(
            database,
            """
            SELECT position, state, delivery FROM delivery
            WHERE webhook = ?1 AND position < ?2 \(state) ORDER BY position DESC LIMIT ?3
            """)
        statement.bind(1, query.webhook.rawValue)
        statement.bind(2, query.before)
        // One more than asked for tells that there are others.
        statement.bind(3, Int64(query.limit) + 1)
        var positions: [Int64] = []
        let found = try statement.allReadable(of: "delivery") { row throws(StoreError) in
            positions.append(row.int64(0))
            return try DeliveryRecord(row: row, of: query.webhook)
        }
        return DeliveryPage(found, from: positions, limit: query.limit)
    }

    // MARK: What has outlived its time

    /// Forgets deliveries that are over, and behind which their webhook is, and that are too old;
    /// at most `limit`.
    ///
    /// - Returns: How many.
    func purgeDeliveries(before instant: KeptTime, limit: Int) throws -> Int {
        let statement = try PreparedStatement(
            database,
            """
            DELETE FROM delivery WHERE (webhook, position) IN (
                SELECT webhook, position FROM delivery
                WHERE state <> 0 AND keptAt < ?1
                    AND position <= (SELECT cursor FROM webhook WHERE id = webhook)
                LIMIT ?2)
            """)
        statement.bind(1, instant.milliseconds)
        statement.bind(2, Int64(limit))
        try statement.run()
        return database.changesCount
    }

    /// For each webhook that has more deliveries than `count`: which of them, and older ones, are
    /// too many.
    func crowdedWebhooks(beyond count: Int) throws -> [(webhook: WebhookID, through: Int64)] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT id, cursor, (
                SELECT position FROM delivery WHERE webhook = id
                ORDER BY position DESC LIMIT 1 OFFSET ?1) AS boundary
            FROM webhook WHERE boundary IS NOT NULL
            """)
        statement.bind(1, Int64(count))
        return try statement.all { row in
            (WebhookID(rawValue: row.int64(0)), min(row.int64(1), row.int64(2)))
        }
    }

    /// Forgets the oldest deliveries of a webhook that are over, through a position; at most
    /// `limit`.
    ///
    /// - Returns: How many.
    func purgeDeliveries(
        of webhook: WebhookID, through position: Int64, limit: Int
    ) throws -> Int {
        let statement = try PreparedStatement(
            database,
            """
            DELETE FROM delivery WHERE webhook = ?1 AND position IN (
                SELECT position FROM delivery
                WHERE webhook = ?1 AND position <= ?2 AND state <> 0 LIMIT ?3)
            """)
        statement.bind(1, webhook.rawValue)
        statement.bind(2, position)
        statement.bind(3, Int64(limit))
        try statement.run()
        return database.changesCount
    }
}
