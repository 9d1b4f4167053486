public import Files
internal import Glibc
public import Semantics

/// Why the gateway does not do what a client asks.
public enum GatewayError: Error, Equatable, Sendable {
    /// Also for another tenant's session: it does not exist for this one.
    case noSuchSession
    /// Also for another tenant's task, and one that has been forgotten.
    case noSuchTask
    /// The tenant has a session of this identifier that is not invalid (S-6).
    case identifierInUse(SessionID)
    /// The session takes no new tasks and no changes any more (S-11).
    case sessionInvalidated
    /// Only a completed task can be forgotten, or made again.
    case taskIsRunning
    /// The task cannot be made again: its session has ended, or what it sent is gone; one sentence.
    case notRetryable(String)
    /// The task has no content, or none any more.
    case noContent
    /// The file that a content was saved in is not there any more, or not as it was.
    case savedFileChanged
    /// The content is not whole yet.
    case notComplete
    /// A streamed content has one reader.
    case alreadyRead
    /// There may be `limit` names of metadata.
    case tooMuchMetadata(limit: Int)
    /// Also for another tenant's staged file, and one that has been forgotten.
    case noSuchFile
    /// A staged file whose upload has not been completed cannot be read.
    case uploadIncomplete
    /// Nothing is appended to a complete file.
    case uploadCompleted
    /// Another request has taken up the upload of a staged file, or ended it.
    case uploadSuperseded
    /// Bytes are appended behind those that are there: at `expected`.
    case wrongOffset(expected: Int64, provided: Int64)
    /// A staged file has, or is told to have, another length than was announced.
    case inconsistentLength(announced: Int64)
    /// A staged file has, or is told to have, another digest than was expected.
    case digestMismatch(expected: ContentDigest)
    /// No staged file may have more bytes than `limit`.
    case fileTooLarge(limit: Int64)
    /// The tenant's staged files have all the room that the gateway gives to any tenant's, or are
    /// as many.
    case quotaExceeded
    /// More would be beyond a quota of the tenant, which is `limit`.
    case overQuota(TenantQuotas.Quota, limit: Int64)
    /// Resume data that is damaged, or another tenant's (S-36).
    case badResumeData
    /// No body is wanted at the moment, or one of another generation (S-39): `generation` was asked
    /// for last, 0 for none ever.
    case bodyNotWanted(generation: Int)
    /// The body's length is not the one that was announced with the task.
    case wrongBodyLength(expected: Int64)
    /// Also for another tenant's decision, and one whose task has been forgotten.
    case noSuchDecision
    /// Also for another tenant's webhook.
    case noSuchWebhook
    /// The webhook has not tried that event, or it is not known any more.
    case noSuchDelivery
    /// There is no tenant of this name, or none any more.
    case noSuchTenant
    /// Another tenant has this name.
    case tenantExists
    /// The tenant is being deleted.
    case tenantIsEnding
    /// The operator's own tenant is not deleted.
    case tenantStays
    /// There are at most `limit` tenants.
    case tooManyTenants(limit: Int)
    /// The tenant is on its way from one node to another: the same request succeeds shortly.
    case tenantIsMoving
    /// There is no node of this number, or none any more.
    case noSuchNode
    /// There is no token of this id, or none any more.
    case noSuchToken
    /// There are at most `limit` tokens.
    case tooManyTokens(limit: Int)
    /// An ephemeral session's events are not kept, so they cannot be delivered for certain.
    case sessionNotKept
    /// Somebody was faster (S-74).
    case decisionAnswered
    /// The deadline has passed, or the task has ended: `expired` or `withdrawn`.
    case decisionOver(DecisionState)
    /// The answer is one to the decision's kind, but not here; one sentence.
    case answerNotPossible(String)
    /// A credential that does not fit the protection space, or cannot be read; one sentence.
    case credentialNotUsable(String)
    /// What a client has given is no cookie that a jar takes.
    case cookieRefused(CookieRejection)
    /// The session was told to have no storage of this kind (S-25).
    case noStorage
    /// Whoever has asked for it is let in no more, and was told so.
    case callerIsGone
    /// The key of an earlier request that asked for something else.
    case keyReused
    /// No new work is taken until there is room again.
    case diskFull
    /// It has been recorded, and the store cannot be written: it is done when that can be again.
    case unconfirmed(isAway: Bool)
    /// Ephemeral sessions have all the memory that they may.
    case memoryFull
    /// Requests of tasks that have not ended have all the memory that they may.
    case requestsFull
    /// The store's words, for the log; a client is told that it was the gateway's fault.
    case store(StoreError)
    /// A content or a file that there should be cannot be opened: the system's words, for the log.
    case unreadable(FileError)

    /// What is asked for is damaged: the store has its row, and cannot read it.
    static let damaged = GatewayError.store(.damaged("It is left out since the start."))
}

extension GatewayError {
    /// Why a file that the store tells of cannot be opened: `gone` where there is none any more,
    /// else the gateway's fault, which says nothing of the file.
    static func cannotOpen(_ error: any Error, orIsGone gone: GatewayError) -> GatewayError {
        guard let error = error as? FileError else { return .store(.failed("\(error)")) }
        return error.code == ENOENT ? gone : .unreadable(error)
    }

    /// Whether there is no such content or file any more, and will not be again.
    var isGone: Bool {
        switch self {
        case .noContent, .noSuchFile, .noSuchTask: true
        default: false
        }
    }

    /// Whether what was asked for is where it cannot be reached at the moment: the same may succeed
    /// in a while.
    var isForLater: Bool {
        switch self {
        case .store(.away), .store(.lost), .tenantIsMoving, .unconfirmed(isAway: true): true
        case .unreadable(let error): error.isForLater
        default: false
        }
    }
}
