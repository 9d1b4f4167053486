public import Semantics

/// Keeps what somebody may have to account for: who did what, when, from where, and with what
/// outcome.
public protocol AuditLog: Sendable {
    /// Takes a line; it is on the disk about a second later, unless that has no room for it.
    func note(_ entry: AuditEntry)
    /// Lines that were left out since the start for want of room.
    var lostCount: Int { get }
}

/// A line of the audit: never a secret, nor what stands in a URL behind its host.
public struct AuditEntry: Sendable, Equatable {
    /// What is noted.
    public enum Action: Sendable, Equatable {
        /// A call of the scope admin, one for another tenant's figures, or one that takes a scope
        /// that the token has not: its method and the pattern of its path.
        case call(String)
        /// Such calls of one token that may come any number of times, since the line before that
        /// told of them: refused ones, and those of pages that watch.
        case repeatedCalls(String, count: Int)
        /// Wrong tokens from one address, since the line before that told of it.
        case refusedTokens(count: Int)
        /// A transfer that the policy has not let through.
        case deniedDestination(host: String, port: Int)
        /// More such transfers of a tenant to the same destination, since the line before that told
        /// of them; without a host to several, where there are many.
        case deniedDestinations(host: String?, port: Int?, count: Int)
    }

    /// When, by the wall clock.
    public let at: Timestamp
    /// What.
    public let action: Action
    /// Whose it is, by name: of a call, the caller's.
    public var tenant: String?
    /// The id of the caller's token; `file` for one of a file, and nil where that is not known.
    public var token: String?
    /// The numeric address that it came from; `unix` for a unix socket.
    public var peer: String?
    /// The id of the request.
    public var request: String?
    /// What the path of a call names: a tenant, or the id of a token.
    public var target: String?
    /// What a denied transfer belongs to: the ids of a session and a task, or of a webhook.
    public var origin: [String] = []
    /// The status that a call was answered with.
    public var status: Int?

    /// A line that says nothing else yet.
    public init(_ action: Action, at instant: Timestamp) {
        self.action = action
        at = instant
    }
}
