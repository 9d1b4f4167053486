internal import Engine
internal import Records
internal import Semantics

/// The rows of webhooks, and of what has become of their events.
struct WebhookRows {
    let connection: Connection
    let sealer: any Sealer

    /// Writes what has changed. What belongs to a webhook that is not there is left out.
    func apply(_ batch: StoreBatch) throws {
        try save(batch.webhooks)
        if !batch.webhookCursors.isEmpty {
            try connection.send(
                """
                UPDATE webhook SET cursor = new.cursor FROM unnest($1, $2) AS new (id, cursor)
                WHERE webhook.id = new.id
                """,
                [
                    .numbers(batch.webhookCursors.map(\.key.rawValue)),
                    .numbers(batch.webhookCursors.map(\.value)),
                ])
        }
        for (webhook, position) in batch.replayedWebhooks {
            try connection.send(
                "DELETE FROM delivery WHERE webhook = $1 AND position > $2",
                [.number(webhook.rawValue), .number(position)])
        }
        try save(batch.deliveries, at: batch.keptAt)
        try remove(batch.removedWebhooks)
    }

    // MARK: Webhooks

    private func save(_ webhooks: [WebhookRecord]) throws {
        let described = webhooks.map { webhook in
            var parts = RecordParts()
            WebhookProperties.write(webhook, to: &parts)
            return (webhook: webhook, parts: parts)
        }
        for some in described.slices(of: connection.sliceLimit, by: \.parts.byteCount) {
            try save(some)
        }
    }

    private func save(
        _ described: ArraySlice<(webhook: WebhookRecord, parts: RecordParts)>
    ) throws {
        let webhooks = described.map(\.webhook)
        let secrets = try described.map { webhook, parts in
            try sealer.seal(parts.secret.bytes, for: .webhook(webhook.id, tenant: webhook.tenant))
        }
        try connection.send(
            """
            INSERT INTO webhook (id, tenant, session, state, cursor, created_at, properties, secret)
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (id) DO UPDATE SET state = excluded.state, cursor = excluded.cursor,
                properties = excluded.properties, secret = excluded.secret
            """,
            [
                .numbers(webhooks.map(\.id.rawValue)), .numbers(webhooks.map(\.tenant.rawValue)),
                .numbers(webhooks.map(\.session?.rawValue)),
                .texts(webhooks.map(\.state.rawValue)), .numbers(webhooks.map(\.cursor)),
                .numbers(webhooks.map(\.createdAt.milliseconds)),
                .chunks(described.map(\.parts.clear.bytes)), .chunks(secrets),
            ])
    }

    /// Forgets webhooks with their deliveries; their numbers are not given again.
    func remove(_ webhooks: [WebhookID]) throws(StoreError) {
        guard let newest = webhooks.max() else { return }
        let ids = Parameter.numbers(webhooks.map(\.rawValue))
        try connection.send("DELETE FROM delivery WHERE webhook = ANY($1)", [ids])
        try connection.send("DELETE FROM webhook WHERE id = ANY($1)", [ids])
        try GatewayRow(connection: connection).note(newest.rawValue)
    }

    /// Forgets the webhooks that are bound to sessions.
    func removeAll(of sessions: [SessionID]) throws(StoreError) {
        let bound = try connection.rows(
            "SELECT id FROM webhook WHERE session = ANY($1)",
            [.numbers(sessions.map(\.rawValue))])
        try remove(bound.map { WebhookID(rawValue: $0.int64(0)) })
    }

    /// Every webhook that can be read, in the order of creation.
    func all(_ filter: TenantFilter) throws(StoreError) -> [WebhookRecord] {
        let rows = try connection.rows(
            """
            SELECT id, tenant, session, state, cursor, created_at, properties, secret
            FROM webhook WHERE \(filter.by()) ORDER BY id
            """, filter.parameters)
        return try rows.mapReadable(of: "webhook") { row throws(StoreError) in
            try WebhookRecord(row: row, sealer: sealer)
        }
    }

    // MARK: Deliveries

    private func save(_ deliveries: [DeliveryRecord], at instant: KeptTime) throws(StoreError) {
        guard !deliveries.isEmpty else { return }
        try connection.send(
            """
            INSERT INTO delivery (webhook, position, state, delivery, kept_at)
            SELECT new.*, $5
            FROM unnest($1, $2, $3, $4) AS new (webhook, position, state, delivery)
            JOIN webhook ON webhook.id = new.webhook
            ON CONFLICT (webhook, position) DO UPDATE SET state = excluded.state,
                kept_at = excluded.kept_at, delivery = excluded.delivery
            """,
            [
                .numbers(deliveries.map(\.webhook.rawValue)), .numbers(deliveries.map(\.position)),
                .numbers(deliveries.map(\.state.stored)),
                .chunks(
                    deliveries.map { delivery in
                        var writer = RecordWriter()
                        delivery.write(to: &writer)
                        return writer.bytes
                    }),
                .number(instant.milliseconds),
            ])
    }

    /// What has become of a webhook's events, the newest first. A row that is damaged is left out:
    /// the event is sent again.
    func deliveries(_ query: DeliveryQuery) throws(StoreError) -> DeliveryPage {
        let state = query.state.map { "AND state = \($0.stored)" } ?? ""
        let rows = try connection.rows(
            """
            SELECT position, state, delivery FROM delivery
            WHERE webhook = $1 AND position < $2 \(state) ORDER BY position DESC LIMIT $3
            """,
            [
                .number(query.webhook.rawValue), .number(query.before),
                // One more than asked for tells that there are others.
                .number(Int64(query.limit) + 1),
            ])
        var positions: [Int64] = []
        let found = try rows.mapReadable(of: "delivery") { row throws(StoreError) in
            positions.append(row.int64(0))
            return try DeliveryRecord(row: row, of: query.webhook)
        }
        return DeliveryPage(found, from: positions, limit: query.limit)
    }
}
