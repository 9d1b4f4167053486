/// How a session keeps what it holds (S-1…S-4).
public enum SessionType: String, Sendable {
    case `default`, ephemeral
    /// What is on its way goes on by itself, whoever listens and whatever happens to the gateway
    /// (S-3, S-50…S-54).
    case background
    /// One per tenant, always there (S-4); kept as a default session is.
    case shared
}

/// The life of a session (S-9…S-11).
public enum SessionState: String, CaseIterable, Sendable {
    case active
    /// No new task is taken; the remaining ones go on to their ends.
    case invalidating
    /// `session.didBecomeInvalid` has been published, and nothing follows it.
    case invalid
}

/// How `task.didReceiveData` tells of bytes (S-58).
public enum DataMode: String, Sendable {
    /// Offset and length; the bytes are read from the content.
    case reference
    /// The bytes themselves, base64, at most 64 KiB an event.
    case inline
}

/// What a session's delegate wants (S-7, §7).
public struct DelegateOptions: Equatable, Sendable {
    /// How long a decision waits, in seconds: 1…86,400, in a background session up to 604,800.
    public var decisionTimeout = 60.0
    /// S-58: by reference unless the client asks for the bytes themselves.
    public var data = DataMode.reference
    /// What is asked; everything else takes its default.
    public var handles: Set<DecisionKind> = []

    /// A delegate with the default time and mode, which makes no decision.
    public init() {}

    /// The decision that a server's challenge of this method asks for; nil where nobody is asked
    /// (S-63, S-64).
    public func challengeKind(of method: AuthenticationMethod) -> DecisionKind? {
        if method.isOfSession, handles.contains(.sessionChallenge) { return .sessionChallenge }
        return handles.contains(.taskChallenge) ? .taskChallenge : nil
    }

    /// The decision that a challenge for this space asks for; nil where nobody is asked. A proxy's
    /// is one of the task, whatever its method (S-64).
    public func challengeKind(of space: ProtectionSpace) -> DecisionKind? {
        guard space.isProxy else { return challengeKind(of: space.method) }
        return handles.contains(.taskChallenge) ? .taskChallenge : nil
    }
}

/// A session as it is kept. Its members are those of `SessionFields`, too: they lie in a box, as a
/// session is copied with every event, which changes little of it.
@dynamicMemberLookup
public struct SessionRecord: Equatable, Sendable {
    /// Unique in the gateway; clients may call the shared session `shared` instead (S-4).
    public let id: SessionID
    /// Whom the session belongs to; for other tenants it does not exist.
    public let tenant: TenantID
    /// Decides what outlives the process: nothing of an ephemeral session does (S-2).
    public let type: SessionType
    @usableFromInline var fields: Boxed<SessionFields>
    /// Goes forward only: `active`, `invalidating`, `invalid`.
    public var state: SessionState
    /// The sequence of the newest event; 0 before the first.
    public var lastSequence: Int64
    /// The number of the newest task; 0 before the first.
    public var lastTaskNumber: Int
    /// S-54: whether a background session has had a task since it ran dry last, so that
    /// `session.didFinishEvents` is owed.
    public var owesFinish: Bool

    /// The most leaves that a session remembers.
    public static let knownLeafLimit = 1_000

    /// A session that has just been created.
    public init(
        id: SessionID, tenant: TenantID, type: SessionType, identifier: String? = nil,
        description: String?, configuration: SessionConfiguration, delegate: DelegateOptions?,
        createdAt: Timestamp
    ) {
        self.id = id
        self.tenant = tenant
        self.type = type
        fields = Boxed(
            wrappedValue: SessionFields(
                identifier: identifier, description: description, configuration: configuration,
                delegate: delegate, createdAt: createdAt))
        self.state = .active
        self.lastSequence = 0
        self.lastTaskNumber = 0
        self.owesFinish = false
    }

    /// What of the session stays as it is.
    @inlinable
    public subscript<Value>(dynamicMember path: KeyPath<SessionFields, Value>) -> Value {
        fields.box.value[keyPath: path]
    }

    /// What of the session may change.
    @inlinable
    public subscript<Value>(dynamicMember path: WritableKeyPath<SessionFields, Value>) -> Value {
        get { fields.box.value[keyPath: path] }
        _modify { yield &fields.wrappedValue[keyPath: path] }
    }

    /// Whether the session and its tasks are kept on disk.
    public var isPersistent: Bool { type != .ephemeral }

    /// Whether its tasks go on by themselves (S-52).
    public var isBackground: Bool { type == .background }
}

/// What of a session's record seldom changes, or never.
public struct SessionFields: Equatable, Sendable {
    /// S-6: the client's name for a background session, by which it finds it again; nil for others.
    public let identifier: String?
    /// A client's own words, at most 1,024 bytes of UTF-8; nil for none.
    public var description: String?
    /// What the client keeps with the session for itself; see `Metadata`.
    public var metadata: [String: String] = [:]
    /// Fixed at the creation (S-5).
    public let configuration: SessionConfiguration
    /// Nil: nothing is asked (S-7).
    public let delegate: DelegateOptions?
    /// What all tasks of the session together may move, in bytes of bodies a second, either way;
    /// nil for no limit.
    public var maximumBytesPerSecond: Int64?
    /// By the wall clock; the order of creation is that of `id`.
    public let createdAt: Timestamp
    /// When the last event went out; nil until then.
    public var invalidatedAt: KeptTime?
    /// S-75: the server certificates that the client has decided about, oldest first; at most
    /// `SessionRecord.knownLeafLimit`.
    public var knownLeaves: [KnownLeaf] = []
}
