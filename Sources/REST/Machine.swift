/// What only the process knows of itself and of its machine.
public protocol Machine: Sendable {
    /// How they stand now. Reads files of the system: called on a thread that may block.
    func figures() -> MachineFigures
}

/// How the process and its machine stand.
public struct MachineFigures: Sendable {
    /// The file system of the data directory; nil where the system does not tell.
    public var disk: DiskFigures?
    /// Bytes of the database's file.
    public var databaseBytes: Int64 = 0
    /// Bytes of the database's write-ahead log.
    public var logBytes: Int64 = 0
    /// Processor time of all threads, in seconds.
    public var processorTime = 0.0
    /// Bytes of memory that are resident.
    public var residentBytes: Int64 = 0
    /// Bytes of address space.
    public var virtualBytes: Int64 = 0
    /// Descriptors that are open.
    public var openDescriptors = 0
    /// Descriptors that may be open.
    public var descriptorLimit = 0
    /// When the process began, in seconds since 1970.
    public var startTime = 0.0
    /// Threads of the process.
    public var threads = 0

    /// Nothing is known.
    public init() {}
}

/// A file system's room, in bytes.
public struct DiskFigures: Sendable {
    /// What the gateway may still write.
    public var free: Int64
    /// All of it.
    public var total: Int64
    /// What of the rest the gateway keeps for its database.
    public var reserve: Int64

    /// Room from its parts.
    public init(free: Int64, total: Int64, reserve: Int64) {
        self.free = free
        self.total = total
        self.reserve = reserve
    }
}
