internal import Engine
internal import Files
internal import HTTP
internal import JSON
internal import Semantics

/// The problems that REST itself answers with; HTTP adds its own (`HTTP.Problem`). Together they
/// are the closed list of openapi.yaml.
enum ProblemCode: String, CaseIterable {
    case malformedJSON = "malformed-json"
    case invalidValue = "invalid-value"
    case unknownMember = "unknown-member"
    case unknownParameter = "unknown-parameter"
    case unsupportedMediaType = "unsupported-media-type"
    case unauthenticated
    case forbidden
    case tooManyFailures = "too-many-failures"
    case originMismatch = "origin-mismatch"
    case misdirectedRequest = "misdirected-request"
    case invalidURL = "invalid-url"
    case unsupportedURL = "unsupported-url"
    case invalidHeader = "invalid-header"
    case delegateRequired = "delegate-required"
    case notInBackground = "not-in-background"
    case invalidResumeData = "invalid-resume-data"
    case unknownDisposition = "unknown-disposition"
    case answerNotPossible = "answer-not-possible"
    case credentialNotUsable = "credential-not-usable"
    case invalidCookie = "invalid-cookie"
    case idempotencyKeyReused = "idempotency-key-reused"
    case notFound = "not-found"
    case sessionImmutable = "session-immutable"
    case identifierInUse = "identifier-in-use"
    case noStorage = "no-storage"
    case nameInUse = "name-in-use"
    case tenantDeleting = "tenant-deleting"
    case sessionInvalidated = "session-invalidated"
    case creationForgotten = "creation-forgotten"
    case decisionAnswered = "decision-answered"
    case decisionExpired = "decision-expired"
    case decisionWithdrawn = "decision-withdrawn"
    case taskRunning = "task-running"
    case notRetryable = "not-retryable"
    case noContent = "no-content"
    case notComplete = "not-complete"
    case alreadyRead = "already-read"
    case bodyNotWanted = "body-not-wanted"
    case bodyRefused = "body-refused"
    case wrongOffset = "wrong-offset"
    case uploadCompleted = "upload-completed"
    case uploadSuperseded = "upload-superseded"
    case inconsistentLength = "inconsistent-length"
    case digestMismatch = "digest-mismatch"
    case fileTooLarge = "file-too-large"
    case quotaExceeded = "quota-exceeded"
    case rangeNotSatisfiable = "range-not-satisfiable"
    case preconditionFailed = "precondition-failed"
    case transferFailed = "transfer-failed"
    case insufficientStorage = "insufficient-storage"
    case damaged
    case `internal`

    /// The status and the title, which say the same for every occurrence (RFC 9457 §3.1).
    private var meaning: (status: Int, title: String) {
        switch self {
        case .malformedJSON: (400, "The body is not JSON")
        case .invalidValue: (422, "A value is not allowed")
        case .unknownMember: (422, "The member is not known")
        case .unknownParameter: (422, "The query parameter is not known")
        case .unsupportedMediaType: (415, "The media type is not supported")
        case .unauthenticated: (401, "A valid token is needed")
        case .forbidden: (403, "The token does not allow this")
        case .tooManyFailures: (429, "Too many bad tokens")
        case .originMismatch: (403, "The request comes from another origin")
        case .misdirectedRequest: (421, "The gateway does not answer for this host")
        case .invalidURL: (422, "The URL is malformed")
        case .unsupportedURL: (422, "The URL's scheme is not supported")
        case .invalidHeader: (422, "A header field is not allowed")
        case .delegateRequired: (422, "The session's delegate does not handle this")
        case .notInBackground: (422, "A background session does not do this")
        case .invalidResumeData: (422, "The resume data cannot be used")
        case .unknownDisposition: (422, "The decision has no such disposition")
        case .answerNotPossible: (422, "This answer is not possible here")
        case .credentialNotUsable: (422, "The credential cannot be used")
        case .invalidCookie: (422, "The cookie is not allowed")
        case .idempotencyKeyReused: (422, "The key belongs to another request")
        case .notFound: (404, Problem.notFound.title)
        case .sessionImmutable: (409, "A session's configuration never changes")
        case .identifierInUse: (409, "A different session has this identifier")
        case .noStorage: (409, "The session has no such storage")
        case .nameInUse: (409, "Another tenant has this name")
        case .tenantDeleting: (409, "The tenant is being deleted")
        case .sessionInvalidated: (410, "The session has been invalidated")
        case .creationForgotten: (410, "What was created has been deleted")
        case .decisionAnswered: (409, "The decision has been answered")
        case .decisionExpired: (410, "The time for an answer is over")
        case .decisionWithdrawn: (410, "No answer is needed any more")
        case .taskRunning: (409, "The task has not completed")
        case .notRetryable: (409, "The task cannot be made again")
        case .noContent: (409, "The task has no content")
        case .notComplete: (409, "The content is not complete")
        case .alreadyRead: (409, "The content has been read")
        case .bodyNotWanted: (409, "This body is not wanted")
        case .bodyRefused: (409, "The rest of the body is not wanted")
        case .wrongOffset: (409, "The upload is at another offset")
        case .uploadCompleted: (409, "The upload is complete")
        case .uploadSuperseded: (409, "Another request has taken over the upload")
        case .inconsistentLength: (422, "The lengths do not agree")
        case .digestMismatch: (422, "The digest does not match")
        case .fileTooLarge: (413, "The file is too large")
        case .quotaExceeded: (507, "The quota is used up")
        case .rangeNotSatisfiable: (416, "The range is outside of the content")
        case .preconditionFailed: (412, "The precondition does not hold")
        case .transferFailed: (502, "The transfer failed")
        case .insufficientStorage: (507, "The disk is full")
        case .damaged: (500, "The stored data is damaged")
        case .internal: (500, "An error inside the gateway")
        }
    }

    /// The problem, with what is particular to this occurrence.
    func problem(
        _ detail: String? = nil, at pointer: String? = nil, headers: HeaderFields = HeaderFields([])
    ) -> Problem {
        Problem(
            status: meaning.status, code: rawValue, title: meaning.title, detail: detail,
            pointer: pointer, headers: headers)
    }
}

/// The one table from what the rooms below throw to what a client is told.
extension Problem {
    /// What a client is told.
    ///
    /// - Parameters:
    ///   - error: what was thrown.
    ///   - pointer: where a credential stands in the body, if there is one.
    init(_ error: GatewayError, credentialAt pointer: String = "/credential") {
        self =
            switch error {
            case .noSuchSession: ProblemCode.notFound.problem("There is no such session.")
            case .noSuchTask: ProblemCode.notFound.problem("There is no such task.")
            case .sessionInvalidated: ProblemCode.sessionInvalidated.problem()
            case .identifierInUse: ProblemCode.identifierInUse.problem()
            case .taskIsRunning:
                ProblemCode.taskRunning.problem("Cancel the task, or wait for its end.")
            case .notRetryable(let sentence): ProblemCode.notRetryable.problem(sentence)
            case .noContent: ProblemCode.noContent.problem()
            case .savedFileChanged:
                ProblemCode.noContent.problem(
                    "The file that it was saved in has been changed, moved or removed.")
            case .notComplete:
                ProblemCode.notComplete.problem("Ranges are served when the task has completed.")
            case .alreadyRead:
                ProblemCode.alreadyRead.problem("A streamed content has one reader.")
            case .tooMuchMetadata(let limit):
                ProblemCode.invalidValue.problem(
                    "There may be \(limit) names of metadata.", at: "/metadata")
            case .noSuchFile: ProblemCode.notFound.problem("There is no such file.")
            case .uploadIncomplete:
                ProblemCode.notComplete.problem("The upload of the file has not been completed.")
            case .uploadCompleted:
                ProblemCode.uploadCompleted.problem("Nothing is appended to a complete file.")
            case .uploadSuperseded: ProblemCode.uploadSuperseded.problem()
            case .wrongOffset(let expected, let provided):
                ProblemCode.wrongOffset.problem("The upload goes on at byte \(expected).")
                    .with("expected-offset", expected).with("provided-offset", provided)
            case .inconsistentLength(let announced):
                ProblemCode.inconsistentLength.problem(
                    "The file was announced with \(announced) bytes.")
            case .digestMismatch(let expected):
                ProblemCode.digestMismatch.problem("The file was to have \(expected).")
            case .fileTooLarge(let limit):
                ProblemCode.fileTooLarge.problem(
                    "A staged file has at most \(limit) bytes.",
                    headers: ["Upload-Limit": "max-size=\(limit)"])
            case .quotaExceeded:
                ProblemCode.quotaExceeded.problem("Delete staged files that are not needed.")
            case .badResumeData: ProblemCode.invalidResumeData.problem()
            case .bodyNotWanted(let generation):
                ProblemCode.bodyNotWanted.problem(
                    generation == 0
                        ? "No body has been asked for."
                        : "The body that was asked for last has come, or is another one."
                ).with("bodyGeneration", generation)
            case .wrongBodyLength(let expected):
                ProblemCode.invalidValue.problem(
                    "The task was created for a body of \(expected) bytes.")
            case .noSuchWebhook: ProblemCode.notFound.problem("There is no such webhook.")
            case .noSuchDelivery:
                ProblemCode.notFound.problem(
                    "The webhook has not tried this event, or it is not known any more.")
            case .noSuchTenant: ProblemCode.notFound.problem("There is no such tenant.")
            case .tenantExists: ProblemCode.nameInUse.problem(at: "/name")
            case .tenantIsEnding:
                ProblemCode.tenantDeleting.problem("When that is done, there is no such tenant.")
            case .tenantStays:
                ProblemCode.forbidden.problem(
                    "The tenant \(TenantName.ofOperator) is the operator's own, and stays.")
            case .tooManyTenants(let limit):
                ProblemCode.quotaExceeded.problem("There may be \(limit) tenants.")
            case .tenantIsMoving, .store(.lost):
                .unavailable(because: "The tenant is moving to another node.")
            case .noSuchNode: ProblemCode.notFound.problem("There is no such node.")
            case .noSuchToken: ProblemCode.notFound.problem("There is no such token.")
            case .tooManyTokens(let limit):
                ProblemCode.quotaExceeded.problem("There may be \(limit) tokens.")
            case .overQuota(let quota, let limit): Problem(quota, limit: limit)
            case .sessionNotKept:
                ProblemCode.invalidValue.problem(
                    "An ephemeral session's events are not kept: no webhook can tell of them.",
                    at: "/session")
            case .noSuchDecision: ProblemCode.notFound.problem("There is no such decision.")
            case .decisionAnswered:
                ProblemCode.decisionAnswered.problem("Another answer came first.")
            case .decisionOver(.expired):
                ProblemCode.decisionExpired.problem("The default was taken at the deadline.")
            case .decisionOver:
                ProblemCode.decisionWithdrawn.problem("The task has ended, or asks no longer.")
            case .answerNotPossible(let sentence): ProblemCode.answerNotPossible.problem(sentence)
            case .credentialNotUsable(let sentence):
                ProblemCode.credentialNotUsable.problem(sentence, at: pointer)
            case .cookieRefused(let rejection):
                ProblemCode.invalidCookie.problem(rejection.sentence, at: rejection.pointer)
            case .noStorage:
                ProblemCode.noStorage.problem("The session was created without one.")
            case .keyReused:
                ProblemCode.idempotencyKeyReused.problem(
                    "An earlier request with this Idempotency-Key asked for something else.")
            case .callerIsGone: Authenticator.invalidToken
            case .diskFull:
                ProblemCode.insufficientStorage.problem(
                    "New work is taken when there is room again.")
            case .unconfirmed(isAway: false):
                ProblemCode.insufficientStorage.problem(Readiness.unconfirmed)
            case .unconfirmed(isAway: true):
                .unavailable(because: "\(Readiness.away) \(Readiness.unconfirmed)")
            case .memoryFull:
                ProblemCode.quotaExceeded.problem(
                    """
                    Ephemeral sessions have all the memory that they may: delete tasks that are not \
                    needed, or end such sessions.
                    """)
            case .requestsFull:
                ProblemCode.quotaExceeded.problem(
                    """
                    The requests of tasks that have not ended have all the memory that they may: send \
                    large bodies from staged files, or wait until some tasks have ended.
                    """)
            case .store(.damaged):
                ProblemCode.damaged.problem(
                    """
                    It cannot be read any more. A damaged task, staged file or tenant can be deleted; \
                    `ferry check` tells the operator what else is damaged.
                    """)
            case .store(.away): .unavailable(because: Readiness.away)
            case .unreadable(let error) where error.isForLater:
                .unavailable(because: "It is kept where it cannot be reached at the moment.")
            case .store, .unreadable: ProblemCode.internal.problem()
            }
    }

    /// 400 for what is not JSON, 422 with a pointer for what is.
    ///
    /// - Parameters:
    ///   - error: what the reader stumbled over.
    ///   - prefix: where the JSON text stood in the body.
    init(_ error: JSONError, under prefix: String = "") {
        let code: ProblemCode =
            switch error.kind {
            case .malformed: .malformedJSON
            case .wrongValue: .invalidValue
            case .unknownMember: .unknownMember
            }
        self =
            error.kind == .malformed
            ? code.problem("At byte \(error.offset), the value \(error.detail).")
            : code.problem("The value \(error.detail).", at: prefix + error.pointer)
    }

    init(_ error: URLRejection, at pointer: String?) {
        self =
            switch error {
            case .malformed(let reason):
                ProblemCode.invalidURL.problem(reason, at: pointer).with(.url(.badURL))
            case .unsupportedScheme:
                ProblemCode.unsupportedURL.problem("Only http and https are fetched.", at: pointer)
                    .with(.url(.unsupportedURL))
            }
    }
}
