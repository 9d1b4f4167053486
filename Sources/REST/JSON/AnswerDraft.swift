internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// What answers a decision (`DecisionAnswer` of openapi.yaml): its disposition, and what goes with
/// that by the decision's kind.
struct AnswerDraft {
    /// The most members of `userInfo`.
    fileprivate static let userInfoCountLimit = 64
    /// The most bytes of its names and values together, as UTF-8.
    fileprivate static let userInfoByteLimit = 4096

    private let bytes: [UInt8]
    private let disposition: String

    /// Reads the disposition; the other members wait for the kind.
    init(parsing bytes: [UInt8]) throws(Problem) {
        var disposition: String?
        do throws(JSONError) {
            try JSONReader.read(bytes) { reader throws(JSONError) in
                try reader.object { reader, name throws(JSONError) in
                    if name == "disposition" {
                        disposition = try reader.string()
                    } else {
                        try reader.skipValue()
                    }
                }
            }
        } catch {
            throw Problem(error)
        }
        self.disposition = try Self.required(disposition, at: "/disposition")
        self.bytes = bytes
    }

    /// The answer that is meant.
    ///
    /// - Parameters:
    ///   - decision: what is answered.
    ///   - session: whose decision it is.
    ///   - sources: what the request of an answer is made from.
    /// - Returns: an answer of the decision's kind, with every member checked.
    /// - Throws: 422 for a disposition that the kind does not have, and for a member that is wrong,
    ///   missing, or does not go with the disposition.
    @LoopActor
    func answer(
        to decision: DecisionRecord, in session: SessionRecord, from sources: RequestSources
    ) async throws(Problem) -> DecisionAnswer {
        switch decision.kind {
        case .sessionChallenge, .taskChallenge: .challenge(try challenge(decision, session))
        case .redirect: .redirect(try await redirect(decision, session, sources))
        case .response: .response(try response())
        case .cache: .cache(try cache())
        case .delayedRequest: .delayedRequest(try await delayedRequest(decision, session, sources))
        case .bodyStream:
            throw ProblemCode.unknownDisposition.problem(
                "The body itself is the answer: PUT /v1/tasks/\(decision.task)/body?generation=n.",
                at: "/disposition")
        }
    }

    // MARK: Kinds

    private func challenge(
        _ decision: DecisionRecord, _ session: SessionRecord
    ) throws(Problem) -> ChallengeDisposition {
        switch disposition {
        case "useCredential":
            var credential: CredentialDraft??
            try members { reader, name throws(JSONError) in
                guard name == "credential" else { return false }
                credential = .some(
                    try reader.optional { r throws(JSONError) in try CredentialDraft(&r) })
                return true
            }
            let draft = try Self.required(credential, at: "/credential")
            return .useCredential(
                try draft?.credential(
                    for: decision.question.space, in: session, persistence: .none,
                    at: "/credential"))
        case "performDefaultHandling": return try alone(.performDefaultHandling)
        case "cancelAuthenticationChallenge": return try alone(.cancelAuthenticationChallenge)
        case "rejectProtectionSpace": return try alone(.rejectProtectionSpace)
        default:
            throw unknown(
                "useCredential", "performDefaultHandling", "cancelAuthenticationChallenge",
                "rejectProtectionSpace")
        }
    }

    @LoopActor
    private func redirect(
        _ decision: DecisionRecord, _ session: SessionRecord, _ sources: RequestSources
    ) async throws(Problem) -> RedirectDisposition {
        switch disposition {
        case "follow": .follow(try await request(in: decision, session, sources))
        case "stop": try alone(.stop)
        default: throw unknown("follow", "stop")
        }
    }

    private func response() throws(Problem) -> ResponseDisposition {
        guard let answer = ResponseDisposition(rawValue: disposition) else {
            throw unknown("allow", "cancel", "becomeDownload")
        }
        return try alone(answer)
    }

    private func cache() throws(Problem) -> CacheDisposition {
        switch disposition {
        case "store":
            var policy: CacheStoragePolicy?
            var userInfo: [String: String]?
            try members { reader, name throws(JSONError) in
                switch name {
                case "storagePolicy": policy = try reader.choice()
                case "userInfo": userInfo = try reader.userInfo()
                default: return false
                }
                return true
            }
            return .store(storagePolicy: policy, userInfo: userInfo)
        case "refuse": return try alone(.refuse)
        default: throw unknown("store", "refuse")
        }
    }

    @LoopActor
    private func delayedRequest(
        _ decision: DecisionRecord, _ session: SessionRecord, _ sources: RequestSources
    ) async throws(Problem) -> DelayedRequestDisposition {
        switch disposition {
        case "continue": return try alone(.continue)
        case "useNewRequest":
            let request = try await request(in: decision, session, sources)
            return .useNewRequest(try Self.required(request, at: "/request"))
        case "cancel": return try alone(.cancel)
        default: throw unknown("continue", "useNewRequest", "cancel")
        }
    }

    // MARK: Members

    /// The member `request`: a whole request, which may be the proposed one as the event shows it
    /// (S-79, S-80).
    @LoopActor
    private func request(
        in decision: DecisionRecord, _ session: SessionRecord, _ sources: RequestSources
    ) async throws(Problem) -> RequestRecord? {
        var draft: NewRequestDraft?
        try members { reader, name throws(JSONError) in
            guard name == "request" else { return false }
            draft = try NewRequestDraft(&reader)
            return true
        }
        guard let draft, let proposed = decision.question.proposedRequest else { return nil }
        return try await draft.record(
            at: "/request", inPlaceOf: proposed, in: session, from: sources)
    }

    /// A disposition that nothing goes with.
    private func alone<Disposition>(
        _ disposition: Disposition
    ) throws(Problem) -> Disposition {
        try members { _, _ in false }
        return disposition
    }

    /// Reads the members beside the disposition: `read` answers whether it knows, and has read,
    /// one.
    private func members(
        _ read: (inout JSONReader, String) throws(JSONError) -> Bool
    ) throws(Problem) {
        do throws(JSONError) {
            try JSONReader.read(bytes) { reader throws(JSONError) in
                try reader.object { reader, name throws(JSONError) in
                    if name == "disposition" { return try reader.skipValue() }
                    guard try read(&reader, name) else { throw reader.unknownMember(name) }
                }
            }
        } catch {
            throw Problem(error)
        }
    }

    private static func required<Value>(
        _ value: Value?, at pointer: String
    ) throws(Problem) -> Value {
        guard let value else {
            throw ProblemCode.invalidValue.problem("The value is missing.", at: pointer)
        }
        return value
    }

    private func unknown(_ known: String...) -> Problem {
        ProblemCode.unknownDisposition.problem(
            "The value must be one of \(known.map { "\"\($0)\"" }.joined(separator: ", ")).",
            at: "/disposition")
    }
}

extension JSONReader {
    /// What a client keeps beside a cached response (S-71).
    fileprivate mutating func userInfo() throws(JSONError) -> [String: String] {
        var entries: [String: String] = [:]
        var byteCount = 0
        try object { reader, name throws(JSONError) in
            let value = try reader.string()
            byteCount += name.utf8.count + value.utf8.count
            guard entries.count < AnswerDraft.userInfoCountLimit,
                byteCount <= AnswerDraft.userInfoByteLimit
            else {
                throw reader.fail(
                    "is too much: \(AnswerDraft.userInfoCountLimit) members and"
                        + " \(AnswerDraft.userInfoByteLimit) bytes of names and values at most")
            }
            entries[name] = value
        }
        return entries
    }
}

extension EventBody {
    /// What a credential is wanted for.
    fileprivate var space: ProtectionSpace? {
        if case .didReceiveChallenge(let challenge, _) = self { challenge.space } else { nil }
    }

    /// The request that another one may take the place of.
    fileprivate var proposedRequest: RequestRecord? {
        switch self {
        case .willPerformHTTPRedirection(_, let request, _): request
        case .willBeginDelayedRequest(let request, _): request
        default: nil
        }
    }
}
