/// What a request sends, and where that comes from (S-37).
public enum BodyRecord: Equatable, Sendable {
    /// The bytes themselves, kept with the task.
    case bytes([UInt8])
    /// A staged file, whole; `length` in bytes.
    case file(FileID, length: Int64)
    /// The content of another task of the tenant; `length` in bytes.
    case task(TaskID, length: Int64)
    /// Piped by the client while it is sent (S-39); `length` is `unknownSize` where the client does
    /// not say.
    case stream(length: Int64)

    /// Bytes that will be sent, or `unknownSize`.
    public var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let length), .task(_, let length), .stream(let length): length
        }
    }

    /// Whether the client is asked for the bytes at each attempt (S-39).
    public var isStream: Bool {
        if case .stream = self { true } else { false }
    }

    /// Bytes that are kept in memory.
    public var bytesInMemory: Int {
        if case .bytes(let bytes) = self { bytes.count } else { 0 }
    }
}
