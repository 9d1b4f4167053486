internal import Semantics

/// Something that the store is to have, or to forget. A record comes in its newest form.
enum Change {
    case session(SessionRecord)
    /// A session with all that belongs to it.
    case removedSession(SessionID)

    /// A task that the store has never seen, and the one that it takes the place of, if any.
    case newTask(TaskRecord, inPlaceOf: TaskID? = nil)
    case task(TaskRecord)
    case removedTask(TaskID)
    /// A content that is kept in the store.
    case content([UInt8], of: TaskID)
    case removedContent(of: TaskID)

    /// A decision that the store has never seen.
    case newDecision(DecisionRecord)
    /// A decision that the store must have waiting: the first answer wins (S-74).
    case decision(DecisionRecord)

    case event(Event)
    /// The mark up to which no tenant sequence is given again after a restart.
    case reservedSequence(Int64, of: TenantID)
    /// Goes into one transaction with what is created in the same turn of the loop; its key must be
    /// new to the store.
    case creation(IdempotencyRecord)

    case file(StagedFile)
    case removedFile(FileID)

    case cookies(SessionChange<Cookie>)
    case credentials(SessionChange<StoredCredential>)

    /// A stored response, new, or changed where it brings no content.
    case response(KeptResponse)
    case removedResponse(CacheEntryID)
    /// All stored responses of a session go.
    case emptiedCache(of: SessionID)
    /// A stored response has been used.
    case use(of: CacheEntryID, at: Timestamp)

    case webhook(WebhookRecord)
    case removedWebhook(WebhookID)
    /// A webhook begins again behind its cursor.
    case replay(WebhookRecord)
    /// What has become of an event, and how far its webhook has got by that.
    case delivery(DeliveryRecord)
    case webhookCursor(Int64, of: WebhookID)

    case tenant(TenantRecord)
    /// A tenant of whom the store has nothing else any more.
    case removedTenant(TenantID)
    /// A token that the store has never seen.
    case newToken(TokenRecord)
    case removedToken(TokenID)
    /// A token has been used in this minute.
    case tokenUse(TokenID, at: Timestamp)

    /// The gateway's own limit in bytes a second; nil takes it away.
    case gatewayLimit(Int64?)
    /// Whether work begins that may be put off (S-27).
    case backgroundUpdates(Bool)
}
