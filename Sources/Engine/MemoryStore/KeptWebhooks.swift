internal import Semantics

/// The webhooks of a store in memory, with what has become of their events.
struct KeptWebhooks {
    private struct Kept {
        var delivery: DeliveryRecord
        /// When it came to the store.
        let at: KeptTime
    }

    private var records: [WebhookID: WebhookRecord] = [:]
    private var deliveries: [WebhookID: [Int64: Kept]] = [:]

    var all: [WebhookRecord] { records.values.sorted { $0.id < $1.id } }

    func deliveries(_ query: DeliveryQuery) -> DeliveryPage {
        let found = deliveries[query.webhook, default: [:]].values.map(\.delivery).filter {
            $0.position < query.before && (query.state == nil || $0.state == query.state)
        }
        let page = found.sorted { $0.position > $1.position }.prefix(query.limit)
        return DeliveryPage(
            Array(page), next: page.count < found.count ? page.last?.position : nil)
    }

    mutating func apply(_ batch: StoreBatch) {
        for webhook in batch.webhooks { records[webhook.id] = webhook }
        for (webhook, cursor) in batch.webhookCursors { records[webhook]?.cursor = cursor }
        for (webhook, position) in batch.replayedWebhooks {
            deliveries[webhook] = deliveries[webhook]?.filter { $0.key <= position }
        }
        for delivery in batch.deliveries where records[delivery.webhook] != nil {
            deliveries[delivery.webhook, default: [:]][delivery.position] = Kept(
                delivery: delivery, at: batch.keptAt)
        }
        for webhook in batch.removedWebhooks { remove(webhook) }
    }

    mutating func remove(_ session: SessionID) {
        for webhook in records.values where webhook.session == session { remove(webhook.id) }
    }

    mutating func remove(_ tenant: TenantID) {
        for webhook in records.values where webhook.tenant == tenant { remove(webhook.id) }
    }

    private mutating func remove(_ webhook: WebhookID) {
        records[webhook] = nil
        deliveries[webhook] = nil
    }

    /// Forgets deliveries that are over.
    mutating func purge(_ limits: RetentionLimits) {
        for (webhook, kept) in deliveries {
            let cursor = records[webhook]?.cursor ?? .max
            let oldest = kept.keys.sorted(by: >).dropFirst(limits.deliveriesPerWebhook).first
            deliveries[webhook] = kept.filter { position, kept in
                kept.delivery.state == .pending || position > cursor
                    || (kept.at >= limits.deliveriesBefore && position > oldest ?? .min)
            }
        }
    }
}
