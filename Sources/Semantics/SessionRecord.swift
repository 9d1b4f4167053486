/// How a session keeps what it holds (S-1…S-4).
public enum SessionType: String, Sendable {
    case `default`, ephemeral
    /// One per tenant, always there (S-4); kept as a default session is.
    case shared
}

/// The life of a session (S-9…S-11).
public enum SessionState: String, Sendable {
    case active, invalidating, invalid
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
    /// How long a decision waits, in seconds.
    public var decisionTimeout = 60.0
    public var data = DataMode.reference
    public init() {}
}

/// A session as it is kept.
public struct SessionRecord: Equatable, Sendable {
    public let id: SessionID
    public let tenant: TenantID
    public let type: SessionType
    public var description: String?
    public let configuration: SessionConfiguration
    /// Nil: nothing is asked (S-7).
    public let delegate: DelegateOptions?
    public var state: SessionState
    public let createdAt: Timestamp
    /// When the last event went out; nil until then.
    public var invalidatedAt: Timestamp?
    /// The sequence of the newest event; 0 before the first.
    public var lastSequence: Int64
    /// The number of the newest task; 0 before the first.
    public var lastTaskNumber: Int

    /// A session that has just been created.
    public init(
        id: SessionID, tenant: TenantID, type: SessionType, description: String?,
        configuration: SessionConfiguration, delegate: DelegateOptions?, createdAt: Timestamp
    ) {
        self.id = id
        self.tenant = tenant
        self.type = type
        self.description = description
        self.configuration = configuration
        self.delegate = delegate
        self.state = .active
        self.createdAt = createdAt
        self.lastSequence = 0
        self.lastTaskNumber = 0
    }

    /// Whether the session and its tasks are kept on disk.
    public var isPersistent: Bool { type != .ephemeral }
}
